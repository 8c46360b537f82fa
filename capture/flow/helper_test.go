// SPDX-License-Identifier: Apache-2.0

package flow

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
)

// newBatch returns a batch of frames of one link type.
func newBatch(link capture.LinkType, frames ...[]byte) *capture.Batch {
	b := &capture.Batch{
		Interfaces: []capture.Interface{{LinkType: link}},
		Sections:   []capture.Section{{}},
	}
	for _, data := range frames {
		at := uint32(len(b.Buf))
		n := uint32(len(data))
		b.Buf = append(b.Buf, data...)
		b.Frames = append(b.Frames, capture.Frame{Data: at, CapLen: n, WireLen: n, Record: at, RecordLen: n})
	}
	return b
}

// decode decodes all frames of a batch.
func decode(cfg DecoderConfig, b *capture.Batch) []Header {
	h := make([]Header, len(b.Frames))
	NewDecoder(cfg).Decode(h, b, 0)
	return h
}

// decodeOne decodes a single frame.
func decodeOne(cfg DecoderConfig, link capture.LinkType, data []byte) Header {
	return decode(cfg, newBatch(link, data))[0]
}

// message is the input of the digest for one identity.
type message struct {
	text  string
	tweak uint64
}

func messageOf(buf []byte, m digest.Message) message {
	return message{string(buf[m.Off:][:m.Len]), m.Tweak}
}

// all returns what a digest sees of each frame.
func (m *Messages) all() []message {
	out := make([]message, len(m.msgs))
	for i := range out {
		out[i] = messageOf(m.buf, m.msgs[i])
	}
	for i := range m.nonIP {
		out[m.nonIP[i].number] = messageOf(m.copied, m.copies[i])
	}
	return out
}

// identityOf returns the identity of a single frame.
func identityOf(cfg IdentityConfig, link capture.LinkType, data []byte) message {
	b := newBatch(link, data)
	h := decode(DecoderConfig{Inner: cfg.Kind == Inner}, b)
	return NewIdentity(cfg).FromHeaders(b, 0, h).all()[0]
}

// sharedCaptures returns the directory of captures with known answers, which are not part
// of this repository.
func sharedCaptures(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("FLOWDEDUP_SHARED")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "pcaps")
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("captures with known answers are not here: %v", err)
	}
	return dir
}

func readJSON(t *testing.T, name string, into any) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatal(err)
	}
}

// eachBatch calls do with every readable batch of a capture. Damage ends the capture
// silently.
func eachBatch(t *testing.T, name string, do func(b *capture.Batch)) {
	t.Helper()
	src, err := pcapfile.Open(name, pcapfile.Options{})
	var damage *capture.InputError
	if errors.As(err, &damage) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	var b capture.Batch
	for {
		err := src.Next(&b)
		if errors.Is(err, io.EOF) || errors.As(err, &damage) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		do(&b)
	}
}

// The functions below build packets by hand, so that tests do not depend on what a library
// believes about a protocol.

func be16(v int) []byte    { return binary.BigEndian.AppendUint16(nil, uint16(v)) }
func be32(v uint32) []byte { return binary.BigEndian.AppendUint32(nil, v) }
func le16(v int) []byte    { return binary.LittleEndian.AppendUint16(nil, uint16(v)) }
func le32(v int) []byte    { return binary.LittleEndian.AppendUint32(nil, uint32(v)) }

// join concatenates; strings stand for their bytes.
func join(parts ...any) []byte {
	var out []byte
	for _, p := range parts {
		switch p := p.(type) {
		case string:
			out = append(out, p...)
		case []byte:
			out = append(out, p...)
		}
	}
	return out
}

// ip4 is an IPv4 packet from 10.0.0.n to 10.0.1.n.
func ip4(n byte, proto int, payload []byte) []byte {
	return summed(join("\x45\x00", be16(20+len(payload)), be16(0x1200+int(n)), "\x00\x00\x40", string([]byte{byte(proto)}), "\x00\x00",
		[]byte{10, 0, 0, n, 10, 0, 1, n}, payload))
}

// summed sets the checksum of an IPv4 header (RFC 791), word by word.
func summed(ip []byte) []byte {
	sum := 0
	for o := 0; o < int(ip[0]&15)*4; o += 2 {
		if o != 10 {
			sum += int(ip[o])<<8 | int(ip[o+1])
		}
	}
	sum = sum%0xffff ^ 0xffff
	copy(ip[10:], be16(sum))
	return ip
}

// ip6 is an IPv6 packet from 2001:db8::n to 2001:db8:1::n.
func ip6(n byte, next int, payload []byte) []byte {
	prefix := []byte{0x20, 0x01, 0x0d, 0xb8}
	return join("\x60\x00\x00\x00", be16(len(payload)), []byte{byte(next), 64},
		prefix, make([]byte, 11), []byte{n}, prefix, "\x00\x01", make([]byte, 9), []byte{n}, payload)
}

func udp(src, dst int, payload []byte) []byte {
	return join(be16(src), be16(dst), be16(8+len(payload)), "\x5a\x5a", payload)
}

func tcp(src, dst int, payload []byte) []byte {
	return join(be16(src), be16(dst), be32(1), be32(2), "\x50\x10\x20\x00\x77\x88\x00\x00", payload)
}

// mac is an address of its own for each n.
func mac(n byte) []byte { return []byte{2, 0, 0, 0, 0, n} }

// ether is a frame from station 2 to station 1.
func ether(typ int, payload []byte) []byte { return join(mac(1), mac(2), be16(typ), payload) }

// snap is an 802.2 header that announces an ethertype.
func snap(typ int, payload []byte) []byte {
	return join("\xaa\xaa\x03\x00\x00\x00", be16(typ), payload)
}

// packet4 and packet6 are the datagrams that most tests wrap.
var (
	packet4 = ip4(1, protoUDP, udp(1000, 53, []byte("question")))
	packet6 = ip6(1, protoTCP, tcp(1000, 80, []byte("request")))
)

// tail reports whether h delimits the datagram at the end of data.
func tail(h Header, data, datagram []byte) bool {
	return int(h.End) == len(data) && slices.Equal(data[h.Start:h.End], datagram)
}
