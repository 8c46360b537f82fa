// SPDX-License-Identifier: Apache-2.0

package headers

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/asm/internal/kerneltest"
)

// TestLabelled has a frame of each kind behind labels, and where its IP header lies, or 0 if the
// slow path takes it.
func TestLabelled(t *testing.T) {
	var next, src, dst [256]bool
	next[6], src[0x20], dst[0x30] = true, true, true
	d := NewDatagrams(^uint64(0), ^uint64(0), &[2][256]bool{}).Labelled(&next, &src, &dst)
	ip4 := append([]byte{0x45, 2, 0, 28, 5, 6, 7, 8, 9, 17, 0, 0, 13, 14, 15, 16, 17, 18, 19, 20}, make([]byte, 8)...)
	setSum(ip4)
	ip6 := make([]byte, 48)
	copy(ip6, []byte{0x61, 2, 3, 4, 0, 8, 6, 8, 0x20})
	ip6[24] = 0x30
	with := func(b []byte, at int, to ...byte) []byte {
		return slices.Replace(slices.Clone(b), at, at+len(to), to...)
	}
	summed := func(b []byte) []byte { setSum(b); return b }
	one, two := []byte{0x88, 0x47, 1, 2, 3, 64}, []byte{0x88, 0x48, 1, 2, 2, 64, 1, 2, 3, 64}
	pppoe4, pppoe6 := []byte{0x88, 0x64, 0x11, 0, 0, 9, 0, 30, 0, 0x21}, []byte{0x88, 0x64, 0x11, 0, 0, 9, 0, 50, 0, 0x57}
	tag, tags := []byte{0x81, 0, 0, 5}, []byte{0x88, 0xa8, 0, 5, 0x91, 0, 0, 7}
	for _, c := range []struct {
		name   string
		before [][]byte
		ip     []byte
		cut    int
		at     uint32
	}{
		{"one label", [][]byte{one}, ip4, 0, 18}, {"one label, IPv6", [][]byte{one}, ip6, 0, 18},
		{"two labels", [][]byte{two}, ip4, 0, 22}, {"two labels, IPv6", [][]byte{two}, ip6, 0, 22},
		{"tag", [][]byte{tag, one}, ip4, 0, 22}, {"two tags", [][]byte{tags, two}, ip6, 0, 30},
		{"three tags", [][]byte{tag, tags, one}, ip4, 0, 0},
		{"PPPoE", [][]byte{pppoe4}, ip4, 0, 22}, {"PPPoE, IPv6", [][]byte{pppoe6}, ip6, 0, 22}, {"tags before PPPoE", [][]byte{tags, pppoe4}, ip4, 0, 30},
		{"PPPoE, other version", [][]byte{pppoe4}, ip6, 0, 0}, {"PPPoE, other version, IPv6", [][]byte{pppoe6}, ip4, 0, 0},
		{"PPPoE, other protocol", [][]byte{with(pppoe4, 8, 0xc0)}, ip4, 0, 0},
		{"PPPoE needs no checksum", [][]byte{pppoe4}, with(ip4, 10, 1, 1), 0, 22},
		{"no bottom", [][]byte{with(one, 4, 2)}, make([]byte, 60), 0, 0},
		{"checksum", [][]byte{one}, with(ip4, 10, 1, 1), 0, 0},
		{"too long", [][]byte{one}, summed(with(ip4, 3, 29)), 0, 0}, {"too long, IPv6", [][]byte{one}, with(ip6, 5, 9), 0, 0},
		{"cut", [][]byte{one}, ip4, 4, 18}, {"cut, IPv6", [][]byte{one}, ip6, 4, 18}, {"cut shorter", [][]byte{one}, ip4, 5, 0}, {"cut shorter, IPv6", [][]byte{one}, ip6, 5, 0},
		{"type of a tag", [][]byte{one}, summed(with(ip4, 12, 0x92, 0)), 0, 0}, {"type of IP", [][]byte{one}, with(ip6, 12, 0x86, 0xdd), 0, 0},
		{"next header", [][]byte{one}, with(ip6, 6, 7), 0, 0}, {"hop limit", [][]byte{one}, with(ip6, 7, 0), 0, 0},
		{"source", [][]byte{one}, with(ip6, 8, 0x21), 0, 0}, {"destination", [][]byte{one}, with(ip6, 24, 0x20), 0, 0},
	} {
		frame := append(append(make([]byte, 12), slices.Concat(c.before...)...), c.ip...)
		captured := len(frame) - c.cut
		kerneltest.ForEveryLevel(t, func(t *testing.T) {
			var msgs [9]digest.Message
			for i := range msgs {
				msgs[i] = digest.Message{Len: uint32(captured), Tweak: uint64(len(frame))}
			}
			var numbers [9]uint16
			rest := []uint64{0}
			buf := kerneltest.Guarded[byte](t, captured, false)
			copy(buf, frame)
			FindDatagrams(d, msgs[:], numbers[:], rest, buf)
			want := uint64(0x1ff)
			if c.at != 0 {
				want = 0
			}
			if rest[0] != want {
				t.Fatalf("%s: rest %x", c.name, rest[0])
			}
			for i, m := range msgs {
				off := c.at + datagramSkip
				if m.Tweak>>60 == 7 { // IPv6, truncated
					off = c.at + 8
				}
				if c.at != 0 && m.Off != off {
					t.Errorf("%s: message %d: %+v", c.name, i, m)
				}
			}
		})
	}
}

// FuzzLabelled compares the kernel with the plain one, of frames that begin with tags or labels.
func FuzzLabelled(f *testing.F) {
	rng := rand.New(rand.NewPCG(7, 8))
	for range 40 {
		f.Add(someFrame(rng, 40+rng.IntN(60)), uint32(rng.IntN(120)), uint8(0))
	}
	f.Fuzz(func(t *testing.T, frame []byte, wire uint32, cut uint8) {
		d := someDatagrams(rand.New(rand.NewPCG(uint64(wire), 1)))
		var msgs [8]digest.Message
		for i := range msgs {
			msgs[i] = digest.Message{Len: uint32(max(len(frame)-i*int(cut), 0)), Tweak: uint64(wire)}
		}
		buf := kerneltest.Guarded[byte](t, len(frame), wire%2 == 0)
		copy(buf, frame)
		compareDatagrams(t, d, msgs[:], buf)
		if len(frame) > 14 {
			for i := range msgs {
				msgs[i] = digest.Message{Len: uint32(len(frame)), Tweak: uint64(wire)}
			}
			binary.BigEndian.PutUint16(buf[12:], []uint16{typeMPLS, typeMPLSUp, typePPPoE}[wire%3])
			compareDatagrams(t, d, msgs[:], buf)
		}
	})
}
