// SPDX-License-Identifier: Apache-2.0

package frames

import (
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/asm/internal/cpu"
	"github.com/flowdedup/flowdedup/asm/internal/kerneltest"
)

// someRecords draws records of a file. A few have no captured bytes, more than r permits, more than
// there are, or a fraction of a second or more.
func someRecords(t *testing.T, rng *rand.Rand, r *Records, size int) []byte {
	buf := kerneltest.Guarded[byte](t, size, false)
	for pos := 0; pos+16 <= size; {
		length, wire, second := rng.Uint32N(r.Longest/10)+1, rng.Uint32(), 1e9/r.Tick
		fraction := rng.Uint64N(second)
		switch rng.IntN(200) {
		case 0:
			length, wire = 0, wire*rng.Uint32N(2)
		case 1:
			length = r.Longest + rng.Uint32N(2)
		case 2:
			length = -rng.Uint32N(100)
		case 3:
			fraction = min(second+rng.Uint64N(2), uint64(1<<32-1))
		}
		for i, v := range []uint32{rng.Uint32(), uint32(fraction), length, wire} {
			if r.Big {
				v = bits.ReverseBytes32(v)
			}
			binary.LittleEndian.PutUint32(buf[pos+4*i:], v)
		}
		pos += int(r.Header) + int(min(length, r.Longest))
	}
	return buf
}

// TestWalkLevels compares every instruction set with the plain one, and goes on behind the records
// that both stop at.
func TestWalkLevels(t *testing.T) {
	kerneltest.ForLevels(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(81, 82))
		stops := 0
		for n := range 500 {
			r := &Records{Header: 16 + 8*uint32(n%2), Longest: 100 + rng.Uint32N(1000), Tick: []uint64{1, 1000}[rng.IntN(2)], Big: n%8 == 7}
			buf := someRecords(t, rng, r, rng.IntN(3000))
			for pos := 0; pos <= len(buf); {
				frames := kerneltest.Guarded[Frame](t, rng.IntN(40), true)
				want := make([]Frame, len(frames))
				done, end := r.Walk(frames, buf, pos)
				wanted, at := 0, 0
				kerneltest.AtLevel(cpu.Generic, func() { wanted, at = r.Walk(want, buf, pos) })
				if done != wanted || end != at || !slices.Equal(frames[:done], want[:done]) {
					t.Fatalf("from %d of %d bytes: got %d to %d, want %d to %d", pos, len(buf), done, end, wanted, at)
				}
				if pos = end; done < len(frames) {
					stops++
					pos += int(r.Header)
				}
			}
		}
		if stops < 1000 {
			t.Errorf("only %d stops", stops)
		}
	})
}

// TestWalk describes records of 24 bytes in both byte orders, one of them unusual.
func TestWalk(t *testing.T) {
	kerneltest.ForEveryLevel(t, func(t *testing.T) {
		testWalk(t, &Records{Header: 16, Longest: 8, Tick: 1000}, binary.LittleEndian)
		testWalk(t, &Records{Header: 16, Longest: 8, Tick: 1000, Big: true}, binary.BigEndian)
	})
}

func testWalk(t *testing.T, r *Records, order binary.AppendByteOrder) {
	record := func(fraction, length uint32) (b []byte) {
		for _, v := range []uint32{3, fraction, length, 9} {
			b = order.AppendUint32(b, v)
		}
		return append(b, make([]byte, 8)...)
	}
	for _, c := range []struct {
		fraction, length uint32
		want             int
	}{{5, 8, 3}, {5, 0, 1}, {5, 9, 1}, {999_999, 8, 3}, {1_000_000, 8, 1}, {1<<32 - 1, 8, 1}, {5, 1<<32 - 1, 1}} {
		buf := slices.Concat(record(7, 8), record(c.fraction, c.length), record(7, 8), record(7, 8))
		frames := make([]Frame, 9)
		done, end := r.Walk(frames, buf, 0)
		if done != c.want || end != 24*done {
			t.Errorf("%+v: %d records to %d", c, done, end)
		}
		if want := (Frame{Time: 3e9 + 7000, Data: 16, CapLen: 8, WireLen: 9, RecordLen: 24}); frames[0] != want {
			t.Errorf("%+v, want %+v", frames[0], want)
		}
	}
}

func BenchmarkWalk(b *testing.B) {
	const packets = 512
	buf := make([]byte, 80*packets+16)
	for pos := 0; pos < len(buf); pos += 80 {
		buf[pos+8] = 64
	}
	r, frames := &Records{Header: 16, Longest: 1000, Tick: 1000}, make([]Frame, packets)
	kerneltest.BenchLevels(b, func(b *testing.B) {
		kerneltest.MeasureCached(b, packets, func() { r.Walk(frames, buf, 0) })
	})
}
