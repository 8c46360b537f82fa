// SPDX-License-Identifier: Apache-2.0

package headers

import (
	"math/rand/v2"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/iana"
)

// labeled is a frame with a label stack of one or two entries.
func labeled(r *rand.Rand, rest []byte) []byte {
	stack := "\x00\x01\x31\xff"
	if r.IntN(2) == 0 {
		stack = "\x00\x01\x00\x40" + stack
	}
	return ether(iana.TypeMPLS, join(stack, rest))
}

// cutBatch is a batch of a frame of which n bytes were captured.
func cutBatch(data []byte, n int) *capture.Batch {
	b := newBatch(capture.LinkEthernet, data)
	b.Frames[0].CapLen, b.Buf = uint32(n), b.Buf[:n:n]
	return b
}

// anyFrame is an Ethernet frame between random stations. The first address begins with a
// digit. It returns the offset of its datagram, or 0.
func anyFrame(r *rand.Rand, digit byte) (frame []byte, at int) {
	dst, src := make([]byte, 6), make([]byte, 6)
	for i := range dst {
		dst[i], src[i] = byte(r.Uint32()), byte(r.Uint32())
	}
	dst[0] = digit<<4 | dst[0]&15
	if digit == 0 && r.IntN(2) == 0 {
		dst[0], dst[1] = 0, 0 // as the control word begins
	}
	frame = join(dst, src)
	for range r.IntN(3) {
		frame = join(frame, be16(iana.TypeVLAN), be16(r.IntN(4096)))
	}
	payload := make([]byte, 8+r.IntN(200))
	for i := range payload {
		payload[i] = byte(r.Uint32())
	}
	switch r.IntN(5) {
	case 0:
		return join(frame, be16(iana.TypeARP), "\x00\x01\x08\x00\x06\x04\x00\x01", payload), 0
	case 1:
		return join(frame, be16(3+len(payload)), "\x42\x42\x03", payload), 0
	case 2:
		return join(frame, be16(iana.TypeIPv6), ip6(byte(r.Uint32()), iana.ProtoUDP, udp(1000, 53, payload))), len(frame) + 2
	default:
		return join(frame, be16(iana.TypeIPv4), ip4(byte(r.Uint32()), iana.ProtoUDP, udp(1000, 53, payload))), len(frame) + 2
	}
}

// TestEthernetInMPLS checks that of Ethernet frames in MPLS, with a control word and without,
// nothing is taken for IP but what their types announce, whatever their addresses are.
func TestEthernetInMPLS(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	for n := range 40000 {
		frame, at := anyFrame(r, byte(n%16))
		control := []byte{}
		if r.IntN(2) == 0 {
			control = join("\x00\x00", be16(r.IntN(2)*r.IntN(65536)))
		}
		data := labeled(r, join(control, frame))
		start := len(data) - len(frame)
		b := newBatch(capture.LinkEthernet, data)
		checkCommon(t, b, 0)
		h := decode(NewDecoder(DecoderConfig{}), b)[0]
		if at == 0 && h.Version != 0 {
			t.Fatalf("frame %d, %x: IP at %d of a frame at %d without IP", n, data, h.Start, start)
		}
		if at > 0 && int(h.Start) != start+at {
			t.Fatalf("frame %d, %x: got %+v, want IP at %d", n, data, h, start+at)
		}
		// Truncated, it is read the same way or not at all.
		for _, cut := range []int{start + 20, start + at + 20, start + at + 40, start + at + 48, len(data) - 1} {
			b := cutBatch(data, min(cut, len(data)))
			checkCommon(t, b, 0)
			if h := decode(NewDecoder(DecoderConfig{}), b)[0]; h.Version != 0 && int(h.Start) != start+at {
				t.Fatalf("frame %d, %x cut at %d: got %+v, want IP at %d", n, data, cut, h, start+at)
			}
		}
	}
}

// TestIPInMPLS checks that datagrams in MPLS are found, whatever their addresses are: whole,
// truncated, with padding or a trailer, sliced, and with a checksum left to a card.
func TestIPInMPLS(t *testing.T) {
	r := rand.New(rand.NewPCG(23, 24))
	for n := range 40000 {
		payload := make([]byte, r.IntN(300))
		for i := range payload {
			payload[i] = byte(r.Uint32())
		}
		datagram, least := ip4(1, iana.ProtoUDP, udp(1000, 53, payload)), 20
		if n%2 == 0 {
			datagram, least = ip6(1, iana.ProtoUDP, udp(1000, 53, payload)), 40
			for _, at := range []int{8, 24} {
				for i := range 8 {
					datagram[at+i] = byte(r.Uint32())
				}
				datagram[at] = 0x20 | datagram[at]&0x1f
			}
		} else {
			for i := 12; i < 20; i++ {
				datagram[i] = byte(r.Uint32())
			}
			summed(datagram)
			if r.IntN(8) == 0 {
				datagram[10], datagram[11], datagram[12] = 0, 0, 10 // a network that looks like no type
			}
		}
		data := labeled(r, datagram)
		start := len(data) - len(datagram)
		data = append(data, make([]byte, r.IntN(40))...)
		for _, b := range []*capture.Batch{newBatch(capture.LinkEthernet, data), cutBatch(data, start+least+r.IntN(len(data)-start-least))} {
			checkCommon(t, b, 0)
			if h := decode(NewDecoder(DecoderConfig{}), b)[0]; h.Version != datagram[0]>>4 || int(h.Start) != start {
				t.Fatalf("frame %d, %x of %x: got %+v, want IP at %d", n, b.Data(0), data, h, start)
			}
		}
	}
}

// TestBelowLabels has cases made by hand: which content is believed and which is not.
func TestBelowLabels(t *testing.T) {
	wrong := append([]byte(nil), packet4...)
	wrong[10] ^= 1
	long := append([]byte(nil), packet6...)
	long[4] = 0x40
	for _, c := range []struct {
		name string
		rest []byte
		want uint16 // the version of IP; 0 without
	}{
		{"ipv4", packet4, 4},
		{"ipv6", packet6, 6},
		{"wrong checksum", wrong, 4},
		{"unusual ipv6, longer than the frame", join("\x6a\x12\x34\x56", long[4:6], "\xaa\x40", long[8:]), 0},
		{"unusual ipv6", join(packet6[:6], "\xaa\x40", packet6[8:]), 6},
		{"associated channel", join("\x10\x00\x00\x21", packet4), 0},
		{"control word before an unknown type", join("\x00\x00\x00\x00", ether(0x88b5, packet4)), 0},
		{"unknown type", join("\x45\x00\x00\x24\x00\x01", mac(2), be16(0x88b5), packet4), 0},
		{"known type", join("\x45\x00\x00\x24\x00\x01", mac(2), be16(iana.TypeIPv4), packet4), 4},
		{"nothing", nil, 0},
	} {
		b := newBatch(capture.LinkEthernet, ether(iana.TypeMPLS, join("\x00\x01\x01\x40", c.rest)))
		checkCommon(t, b, 0)
		if h := decode(NewDecoder(DecoderConfig{}), b)[0]; uint16(h.Version) != c.want {
			t.Errorf("%s: got %+v, want version %d", c.name, h, c.want)
		}
	}
}
