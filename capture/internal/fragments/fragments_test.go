// SPDX-License-Identifier: Apache-2.0

package fragments

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"
	"time"
)

// maxBytes is what assemblers may keep.
const maxBytes = 1 << 20

// cut makes a fragment of a payload. Version 6 has a hop-by-hop header in front.
func cut(version int, id uint32, payload []byte, from, to int) []byte {
	more := uint16(0)
	if to < len(payload) {
		more = 1
	}
	if version == 4 {
		p := make([]byte, 20, 20+to-from)
		p[0], p[8], p[9], p[12], p[16] = 0x45, 64, 17, 10, 11
		binary.BigEndian.PutUint16(p[2:], uint16(20+to-from))
		binary.BigEndian.PutUint16(p[4:], uint16(id))
		binary.BigEndian.PutUint16(p[6:], more<<13|uint16(from/8))
		return append(p, payload[from:to]...)
	}
	p := make([]byte, 56, 56+to-from)
	p[0], p[6], p[7], p[8], p[24], p[40], p[48] = 0x60, 0, 64, 0x20, 0x21, 44, 17
	binary.BigEndian.PutUint16(p[4:], uint16(16+to-from))
	binary.BigEndian.PutUint16(p[50:], uint16(from)|more)
	binary.BigEndian.PutUint32(p[52:], id)
	return append(p, payload[from:to]...)
}

// pieces cuts a payload into fragments at random places.
func pieces(rng *rand.Rand, version int, id uint32, payload []byte) (all [][]byte) {
	for from := 0; from < len(payload); {
		to := min(from+8*(1+rng.IntN(80)), len(payload))
		all = append(all, cut(version, id, payload, from, to))
		from = to
	}
	return all
}

func random(rng *rand.Rand, n int) []byte {
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(rng.Uint32())
	}
	return p
}

// TestAssembler puts datagrams together whose fragments come in any order, some twice, mixed
// with fragments of other datagrams. A datagram that lacks a fragment is counted.
func TestAssembler(t *testing.T) {
	for seed := range 2000 {
		rng := rand.New(rand.NewPCG(uint64(seed), 2))
		a := New(maxBytes)
		want := map[string]bool{}
		var all [][]byte
		broken := uint64(0)
		for id := range 1 + rng.IntN(6) {
			payload := random(rng, 9+rng.IntN(4000))
			fragments := pieces(rng, 4+id%2*2, uint32(id), payload)
			lost := -1
			if rng.IntN(3) == 0 {
				lost = rng.IntN(len(fragments))
				broken += uint64(len(fragments) - 1)
			} else {
				want[string(payload)] = true
			}
			for i, f := range fragments {
				if i == lost {
					continue
				}
				for range 1 + max(rng.IntN(5)-3, 0) {
					all = append(all, f)
				}
			}
		}
		rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		whole := uint64(len(want))
		for i, f := range all {
			if got := a.Add(f, int64(i)); got != nil {
				if !want[string(got)] {
					t.Fatalf("seed %d: %d bytes of nothing that was sent, or again", seed, len(got))
				}
				delete(want, string(got))
			}
		}
		a.Flush()
		if c := a.Counts(); len(want) > 0 || c.Whole != whole || c.Broken != broken || a.bytes != 0 || len(a.byKey) > 0 {
			t.Fatalf("seed %d: %d are missing: %+v, want %d and %d; %d bytes stay", seed, len(want), c, whole, broken, a.bytes)
		}
	}
}

// TestRefused refuses what contradicts itself, and goes on with other datagrams.
func TestRefused(t *testing.T) {
	payload := random(rand.New(rand.NewPCG(1, 2)), 3000)
	other := bytes.Clone(payload)
	other[100]++
	first, second := cut(4, 7, payload, 0, 1480), cut(4, 7, payload, 1480, 3000)
	late := int64(timeout) + 1
	steps := func(all ...any) (list []any) { return all }
	cases := []struct {
		name   string
		add    []any // fragments, and times to wait
		whole  uint64
		broken uint64
	}{
		{"in order", steps(first, second), 1, 0},
		{"last first", steps(second, first), 1, 0},
		{"too late", steps(first, late, second), 0, 2},
		{"an identification used again", steps(first, second, cut(4, 7, other, 0, 1480), second), 2, 0},
		{"overlap", steps(first, cut(4, 7, payload, 1472, 3000)), 0, 2},
		{"overlap before", steps(second, cut(4, 7, payload, 0, 1488)), 0, 2},
		{"other bytes at a place", steps(first, cut(4, 7, other, 0, 1480), second), 0, 3},
		{"behind the end", steps(cut(4, 7, payload[:1500], 1480, 1500), cut(4, 7, payload, 1600, 1608)), 0, 2},
		{"two ends", steps(second, cut(4, 7, payload[:2000], 1480, 2000)), 0, 2},
		{"no multiple of eight", steps(cut(4, 7, payload, 0, 1477)), 0, 1},
		{"cut by the capture", steps(first[:300], second), 0, 2},
		{"alone and whole", steps(cut(6, 9, payload, 0, 3000)), 1, 0},
		{"beyond the greatest length", steps(cut(4, 7, make([]byte, 66000), 65528, 65600)), 0, 1},
		{"nothing", steps([]byte{}, []byte{0x45}, []byte{0x60, 0, 0}), 0, 3},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			a, now := New(maxBytes), int64(0)
			for _, step := range c.add {
				switch s := step.(type) {
				case int64:
					now += s
				case []byte:
					a.Add(s, now)
				}
			}
			a.Flush()
			if got := a.Counts(); got.Whole != c.whole || got.Broken != c.broken {
				t.Errorf("%+v, want %d whole and %d broken", got, c.whole, c.broken)
			}
		})
	}
}

// TestAgain counts wanted datagrams that come again, whole.
func TestAgain(t *testing.T) {
	payload := random(rand.New(rand.NewPCG(1, 2)), 3000)
	first, second := cut(4, 7, payload, 0, 1480), cut(4, 7, payload, 1480, 3000)
	for _, order := range [][][]byte{{first, second, first, second}, {first, first, second, second}} {
		for _, want := range []bool{false, true} {
			a, n := New(maxBytes), 0
			for _, f := range order {
				if a.Add(f, 0) != nil {
					if n++; want {
						a.Want()
					}
				}
			}
			if again := a.Counts().Again; n != 1 || again == 1 != want {
				t.Errorf("%d times, %d again", n, again)
			}
		}
	}
}

// TestBounded floods an assembler with fragments that never become whole.
func TestBounded(t *testing.T) {
	a := New(maxBytes)
	payload := make([]byte, 60000)
	for id := range uint32(20000) {
		a.Add(cut(6, id, payload, 0, 40000), int64(id))
		a.Add(cut(6, id, payload, 48000, 60000), int64(id))
		if a.bytes > maxBytes+1<<17 || a.order.Len() > maxDatagrams {
			t.Fatalf("%d bytes of %d datagrams", a.bytes, a.order.Len())
		}
	}
	tiny := New(maxBytes)
	for at := range 2000 {
		tiny.Add(cut(4, 1, payload, at*16, at*16+8), 0)
	}
	if d := tiny.order.Front().Value.(*datagram); len(d.pieces) > maxPieces {
		t.Errorf("%d pieces", len(d.pieces))
	}
}

// FuzzAssembler adds any packets, cut out of any bytes.
func FuzzAssembler(f *testing.F) {
	payload := random(rand.New(rand.NewPCG(1, 2)), 100)
	for _, version := range []int{4, 6} {
		f.Add(bytes.Join([][]byte{cut(version, 1, payload, 0, 48), cut(version, 1, payload, 48, 100)}, nil), uint16(68+16*(version-4)))
	}
	f.Fuzz(func(t *testing.T, all []byte, size uint16) {
		a := New(maxBytes)
		adds := uint64(0)
		for n := max(int(size)%512, 20); len(all) > 0; adds++ {
			p := all[:min(n, len(all))]
			all = all[len(p):]
			if got := a.Add(p, int64(adds)*int64(time.Second)); len(got) > maxPayload {
				t.Fatalf("%d bytes", len(got))
			}
		}
		a.Flush()
		if c := a.Counts(); c.Whole+c.Broken > adds || a.bytes != 0 {
			t.Fatalf("%+v of %d, %d bytes stay", c, adds, a.bytes)
		}
	})
}
