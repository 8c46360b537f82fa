// SPDX-License-Identifier: Apache-2.0

package gopackets_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/google/gopacket/pcapgo"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/dedup"
	"github.com/flowdedup/flowdedup/capture/gopackets"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
)

const pcaps = "../../testdata/pcaps/"

// packet is a packet as a test compares it.
type packet struct {
	data  string
	time  int64
	wire  uint32
	link  capture.LinkType
	iface string
}

// drain returns the packets of a source, and what ended it.
func drain(src capture.Source) (all []packet, err error) {
	var b capture.Batch
	for {
		if err := src.Next(&b); err != nil {
			return all, err
		}
		for i := range b.Frames {
			f := &b.Frames[i]
			it := &b.Interfaces[f.Interface]
			all = append(all, packet{string(b.Data(i)), f.Time, f.WireLen, it.LinkType, it.Name})
		}
	}
}

// fileOf returns the packets of a file as the readers of this project have them.
func fileOf(t testing.TB, name string) []packet {
	t.Helper()
	src, err := pcapfile.Open(name, pcapfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	all, err := drain(src)
	if err != io.EOF {
		t.Fatal(err)
	}
	return all
}

// open returns a handle of pcapgo on a file.
func open(t testing.TB, name string) gopacket.PacketDataSource {
	t.Helper()
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var handle gopacket.PacketDataSource
	if strings.HasSuffix(name, ".pcapng") {
		handle, err = pcapgo.NewNgReader(bytes.NewReader(content), pcapgo.DefaultNgReaderOptions)
	} else {
		handle, err = pcapgo.NewReader(bytes.NewReader(content))
	}
	if err != nil {
		t.Fatal(err)
	}
	return handle
}

// plain hides that a handle reads without copies.
type plain struct{ gopacket.PacketDataSource }

// borrowed hides that a handle also reads with copies.
type borrowed struct {
	gopacket.ZeroCopyPacketDataSource
}

// ways are the kinds of handles that there are.
var ways = map[string]func(gopacket.PacketDataSource) gopacket.PacketDataSource{
	"both":  func(h gopacket.PacketDataSource) gopacket.PacketDataSource { return h },
	"plain": func(h gopacket.PacketDataSource) gopacket.PacketDataSource { return plain{h} },
	"zero copy": func(h gopacket.PacketDataSource) gopacket.PacketDataSource {
		return gopackets.ZeroCopy(borrowed{h.(gopacket.ZeroCopyPacketDataSource)})
	},
}

// given is a packet as a handle of gopacket gives it.
type given struct {
	data string
	info gopacket.CaptureInfo
}

// readAll reads packets to the first error.
func readAll(src *gopackets.Packets, lent bool) (all []given, err error) {
	for {
		read := src.ReadPacketData
		if lent {
			read = src.ZeroCopyReadPacketData
		}
		data, info, err := read()
		if err != nil {
			return all, err
		}
		all = append(all, given{string(data), info})
	}
}

// kept returns those packets of a handle that a detector lets through.
func kept(t *testing.T, handle gopacket.PacketDataSource) (all []given, copies int) {
	t.Helper()
	detector, err := dedup.New(dedup.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer detector.Close()
	link := handle.(interface{ LinkType() layers.LinkType }).LinkType()
	for {
		data, info, err := handle.ReadPacketData()
		if err == io.EOF {
			return all, copies
		}
		if err != nil {
			t.Fatal(err)
		}
		var b capture.Batch
		at := b.AppendInterface(capture.Interface{LinkType: capture.LinkType(link)})
		b.Append(capture.Frame{Time: info.Timestamp.UnixNano(), WireLen: uint32(info.Length), Interface: at}, data)
		if detector.Copies(&b)[0]&1 != 0 {
			copies++
			continue
		}
		all = append(all, given{string(data), info})
	}
}

// script is a handle that follows a script.
type script []any // packets as []byte, their descriptions, and errors

func (s *script) ReadPacketData() (data []byte, info gopacket.CaptureInfo, err error) {
	for len(*s) > 0 {
		next := (*s)[0]
		*s = (*s)[1:]
		switch next := next.(type) {
		case error:
			return nil, info, next
		case gopacket.CaptureInfo:
			info = next
		case []byte:
			return next, info, nil
		}
	}
	return nil, info, io.EOF
}

var (
	errIdle   = errors.New("timeout expired")
	errBroken = errors.New("broken")
)

// slow is a handle whose packets come when somebody asks for them.
type slow chan []byte

func (s slow) ReadPacketData() ([]byte, gopacket.CaptureInfo, error) {
	data, ok := <-s
	if !ok {
		return nil, gopacket.CaptureInfo{}, io.EOF
	}
	return data, gopacket.CaptureInfo{Length: len(data)}, nil
}

// repeated is a handle without an end. Its packets come a second apart.
type repeated struct {
	data []byte
	n    *int64
}

func (r repeated) ReadPacketData() ([]byte, gopacket.CaptureInfo, error) {
	data, info, err := r.ZeroCopyReadPacketData()
	return bytes.Clone(data), info, err
}

func (r repeated) ZeroCopyReadPacketData() ([]byte, gopacket.CaptureInfo, error) {
	*r.n++
	return r.data, gopacket.CaptureInfo{Timestamp: time.Unix(*r.n, 0), CaptureLength: len(r.data), Length: len(r.data)}, nil
}
