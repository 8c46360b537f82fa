// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
)

// TestRecent compares with a plain list of the latest packets of a line. Many digests share a tag, and some
// of these the mark.
func TestRecent(t *testing.T) {
	type seen struct {
		mark uint32
		at   int64
	}
	r, line, all := new(recent), uint64(5), []seen{}
	random := rand.New(rand.NewPCG(3, 9))
	for at := int64(1 << tick); at < 1<<(tick+12); at += random.Int64N(3 << tick) {
		mark := uint32(random.IntN(3)<<24 | random.IntN(5))
		k := slices.IndexFunc(all, func(s seen) bool { return s.mark == mark })
		want := k >= 0 && at>>tick-all[k].at>>tick <= 20
		if k >= 0 {
			all = slices.Delete(all, k, k+1)
		}
		all = slices.Insert(all, 0, seen{mark, at})
		all = all[:min(len(all), recentCells)]
		d := []digest.Digest{{line, uint64(mark)}}
		if got := r.before(d, []int64{at}, time.Duration(20<<tick)) == 1; got != want {
			t.Fatalf("mark %#x at %d: %t, want %t", mark, at, got, want)
		}
	}
}

// TestRepeatsOfMovingOffset notices repeats wherever the offset that matches follow goes up and down by more
// than the repeats lie apart.
func TestRepeatsOfMovingOffset(t *testing.T) {
	random := rand.New(rand.NewPCG(8, 1))
	var a, b []packet
	for i := range int64(3000) {
		p := packet{time: i * 6000 * ms, id: uint32(i)}
		a = append(a, p)
		p.time += random.Int64N(360_000 * ms)
		b = append(b, p)
		p.time += 3000 * ms
		b = append(b, p)
	}
	slices.SortStableFunc(b, func(a, b packet) int { return int(a.time - b.time) })
	if r, _ := compared(Config{Window: time.Hour}, a, b, 500); r.Sides[sideB].Repeats != 3000 || r.Both != 3000 {
		t.Errorf("%d repeats, %d packets of both, want 3000", r.Sides[sideB].Repeats, r.Both)
	}
}
