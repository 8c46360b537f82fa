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

// TestTunnelSources checks that each source port is known, however many there are, and that of too
// many none is overlooked.
func TestTunnelSources(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for n := range 12 {
		rule, from := (*Tunnels)(nil), make([]uint16, n)
		for range 20 {
			for i := range from {
				from[i] = uint16(rng.Uint32())
			}
			rule = someTunnels(from...)
			found := 0
			for src := range 1 << 16 {
				if rule.answers(swap16(uint16(src))) {
					found++
				} else if slices.Contains(from, uint16(src)) {
					t.Fatalf("%v: port %d is not known", from, src)
				}
			}
			if found > n && !rule.anySource || rule.anySource && n < 3 {
				t.Fatalf("%v: %d ports", from, found)
			}
		}
	}
	if someTunnels(sourcePorts...).anySource {
		t.Error("the usual ports have no room")
	}
}

// TestClosedTunnels checks that a shape whose port is none takes no datagram.
func TestClosedTunnels(t *testing.T) {
	rule, d := NewTunnels([4]TunnelShape{{}, {Port: 4789}, {Port: 9}, {}}, TunnelShape{}, nil, nil, &carriers), NewDatagrams(^uint64(0), ^uint64(0), new([2][256]bool)).Untyped()
	kerneltest.ForEveryLevel(t, func(t *testing.T) {
		buf := make([]byte, 0, 8*128)
		msgs, protocols, rest, others := make([]digest.Message, 8), make([]uint16, 8), make([]uint64, 1), make([]uint64, 1)
		for i := range msgs {
			msgs[i] = digest.Message{Off: uint32(len(buf)), Len: 128}
			frame := make([]byte, 128)
			copy(frame[14:], "\x45\x00\x00\x64\x00\x00\x00\x00\x40\x11")
			binary.BigEndian.PutUint16(frame[36:], []uint16{0, 4789, 9, 256}[i%4])
			buf = append(buf, frame...)
		}
		FindDatagrams(d, msgs, protocols, rest, buf)
		OpenTunnels(rule, d, msgs, protocols, rest, others, buf, 2)
		if rest[0]|others[0] != 0 || protocols[3] != 17 {
			t.Errorf("rest %b, others %b, protocols %d", rest, others, protocols)
		}
	})
}

// TestCarrying finds the same protocols at every level, for any set of them.
func TestCarrying(t *testing.T) {
	kerneltest.ForEveryLevel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(11, 12))
		for round := range 2000 {
			var can [256]bool
			for i := range can {
				can[i] = rng.IntN(3) == 0
			}
			rule := &Tunnels{carries: protocolBits(&[2][256]bool{can, can})}
			numbers, want := kerneltest.Guarded[uint16](t, rng.IntN(65), round%2 == 0), uint64(0)
			for i := range numbers {
				numbers[i] = uint16(rng.IntN(256))
				if can[numbers[i]] {
					want |= 1 << i
				}
			}
			if got := rule.carrying(numbers); got != want {
				t.Fatalf("of %d: %b, want %b", numbers, got, want)
			}
		}
	})
}
