// SPDX-License-Identifier: Apache-2.0

package gopackets_test

import (
	"bytes"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/google/gopacket/pcapgo"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/gopackets"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
)

// TestSource compares what comes through pcapgo with what comes from the file itself.
func TestSource(t *testing.T) {
	names, err := filepath.Glob(pcaps + "*.pcap*")
	if err != nil || len(names) < 8 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		want := fileOf(t, name)
		for way, of := range ways {
			cfg := gopackets.SourceConfig{LinkType: want[0].link}
			if !strings.Contains(name, "any-sll2") && way == "both" {
				cfg.LinkType = 0 // the handle states it
			}
			got, err := drain(gopackets.NewSource(of(open(t, name)), cfg))
			if err != io.EOF || len(got) != len(want) {
				t.Fatalf("%s, %s: %d packets of %d, %v", name, way, len(got), len(want), err)
			}
			for i := range got {
				if !strings.HasSuffix(name, ".pcapng") || way != "both" {
					got[i].iface = want[i].iface
				}
				if got[i] != want[i] {
					t.Fatalf("%s, %s: packet %d: got %+v, want %+v", name, way, i, got[i], want[i])
				}
			}
		}
	}
}

// TestSourceErrors delivers the packets before an error, and distinguishes errors.
func TestSourceErrors(t *testing.T) {
	p := []byte("packet")
	for _, c := range []struct {
		name    string
		script  script
		packets int
		want    error
		unread  bool
	}{
		{"empty", nil, 0, io.EOF, false},
		{"end", script{p, p, p}, 3, io.EOF, false},
		{"cut", script{p, p, p, io.ErrUnexpectedEOF, p}, 3, capture.ErrTruncated, true},
		{"broken", script{errBroken}, 0, errBroken, true},
		{"idle", script{errIdle, p, errIdle, p, p, p}, 4, io.EOF, false},
		{"signal", script{p, syscall.EINTR, p}, 2, io.EOF, false},
		{"timeout", script{p, os.ErrDeadlineExceeded, p, syscall.EAGAIN}, 2, io.EOF, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			src := gopackets.NewSource(&c.script, gopackets.SourceConfig{
				Name: "handle", Temporary: func(err error) bool { return err == errIdle },
			})
			all, err := drain(src)
			if len(all) != c.packets || !errors.Is(err, c.want) || capture.IsUnread(err) != c.unread {
				t.Errorf("%d packets, %v", len(all), err)
			}
			var b capture.Batch
			if again := src.Next(&b); again != err || len(b.Frames)+len(b.Blocks) > 0 {
				t.Errorf("%v, then %v", err, again)
			}
			if done, _ := src.Offset(); done != int64(c.packets*len(p)) {
				t.Errorf("%d bytes of %d packets", done, c.packets)
			}
			if c.unread && !strings.HasPrefix(err.Error(), "handle: offset ") {
				t.Error(err)
			}
		})
	}
}

// TestDescriptions keeps the handle's metadata of packets.
func TestDescriptions(t *testing.T) {
	at := time.Unix(1_700_000_000, 123_456_789)
	s := script{
		gopacket.CaptureInfo{Timestamp: at, Length: 1500, InterfaceIndex: 7}, []byte("cut"),
		gopacket.CaptureInfo{Length: -1, InterfaceIndex: 3}, []byte("untimed"),
		gopacket.CaptureInfo{Timestamp: time.Unix(1<<40, 0), Length: math.MaxInt, InterfaceIndex: 7}, []byte("wild"),
		gopacket.CaptureInfo{Timestamp: time.Unix(-1<<40, 0), InterfaceIndex: 7, AncillaryData: []any{layers.LinkTypeIPv4}}, []byte("raw"),
		gopacket.CaptureInfo{Timestamp: at, InterfaceIndex: 7, AncillaryData: []any{"other"}}, []byte{},
	}
	src := gopackets.NewSource(&s, gopackets.SourceConfig{})
	var b capture.Batch
	var got []packet
	var interfaces []uint32
	var err error
	for err = src.Next(&b); err == nil; err = src.Next(&b) { // what was read ahead by then
		for i, f := range b.Frames {
			it := &b.Interfaces[f.Interface]
			got = append(got, packet{string(b.Data(i)), f.Time, f.WireLen, it.LinkType, it.Name})
			interfaces = append(interfaces, f.Interface)
		}
	}
	want := []packet{
		{"cut", at.UnixNano(), 1500, capture.LinkEthernet, "interface 7"},
		{"untimed", capture.NoTime, 7, capture.LinkEthernet, "interface 3"},
		{"wild", math.MaxInt64, min(math.MaxInt, math.MaxUint32), capture.LinkEthernet, "interface 7"},
		{"raw", math.MinInt64 + 1, 3, capture.LinkIPv4, "interface 7"},
		{"", at.UnixNano(), 0, capture.LinkEthernet, "interface 7"},
	}
	if err != io.EOF || !slices.Equal(got, want) {
		t.Errorf("%v; got %+v, want %+v", err, got, want)
	}
	if len(b.Interfaces) != 3 || !slices.Equal(interfaces, []uint32{0, 1, 0, 2, 0}) {
		t.Errorf("%v of %+v", interfaces, b.Interfaces)
	}
}

// TestMixedLinkTypes takes each packet for what its own interface says.
func TestMixedLinkTypes(t *testing.T) {
	var out bytes.Buffer
	w := pcapfile.NewWriter(&out, pcapfile.WriterOptions{Merged: true})
	var b capture.Batch
	ether := b.AppendInterface(capture.Interface{LinkType: capture.LinkEthernet, Name: "left"})
	raw := b.AppendInterface(capture.Interface{LinkType: capture.LinkIPv4, Name: "right"})
	for i := range 10 {
		b.Append(capture.Frame{Time: int64(i), Interface: []uint32{ether, raw}[i%2]}, []byte("a packet of some length"))
	}
	if err := errors.Join(w.Write(&b, nil), w.Close()); err != nil {
		t.Fatal(err)
	}
	handle, err := pcapgo.NewNgReader(&out, pcapgo.NgReaderOptions{WantMixedLinkType: true})
	if err != nil {
		t.Fatal(err)
	}
	all, err := drain(gopackets.NewSource(handle, gopackets.SourceConfig{}))
	if err != io.EOF || len(all) != 10 {
		t.Fatal(len(all), err)
	}
	for i, p := range all {
		if want := b.Interfaces[i%2]; p.link != want.LinkType || p.iface != want.Name {
			t.Errorf("packet %d: %+v", i, p)
		}
	}
}
