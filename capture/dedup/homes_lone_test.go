// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/engine/calendar"
)

// TestLone has a stream show one point for long. Then the conversations of that time have
// their home there, whether they were noted or not, and for a minute so have others.
func TestLone(t *testing.T) {
	const a, b, ms = 7, 8, time.Millisecond
	table := newTest(t, 1<<8)
	old, late, new := uint64(1)<<40, uint64(2)<<40, uint64(3)<<40
	ask(table, at(loneAfter-1, old, a, 0, 1))
	if _, lone := table.lonePoint(); lone {
		t.Error("it is too early to say that there is one point")
	}
	ask(table, []packet{{conversation: old, point: a, time: int64(ms)}, {conversation: 0, point: b, time: int64(ms)}, {conversation: late, point: b, time: calendar.NoTime}})
	if point, lone := table.lonePoint(); !lone || point != a {
		t.Errorf("the one point is %d, %v", point, lone)
	}
	ask(table, at(10, late, a, 2*ms, 1)) // not noted
	if got := ask(table, copied(at(3, late, b, 2*ms, 1))); !slices.Equal(got, []bool{false, false, false}) {
		t.Errorf("copies at another point are at home: %v", got)
	}
	if _, lone := table.lonePoint(); !lone {
		t.Error("copies are no first sightings")
	}
	got := ask(table, []packet{
		{conversation: late, point: a, time: int64(3 * ms)}, {conversation: late, point: b, time: int64(4 * ms)},
		{conversation: old, point: b, time: int64(5 * ms)}, {conversation: new, point: b, time: int64(6 * ms)}, {conversation: new, point: a, time: int64(7 * ms)},
		{conversation: 4 << 40, point: b, time: int64(time.Hour)}, {conversation: late, point: a, time: int64(time.Hour)},
	})
	if want := []bool{true, false, false, false, true, true, true}; !slices.Equal(got, want) {
		t.Errorf("at home: %v, want %v", got, want)
	}
	if _, lone := table.lonePoint(); lone {
		t.Error("there are two points")
	}
}

// TestLoneCut gives the same answers, however a stream is cut into calls that shows another
// point early, late, or when homes are about to be noted no more.
func TestLoneCut(t *testing.T) {
	for seed, second := range []int{10, loneAfter, loneAfter*4/3 - 100, loneAfter*4/3 + 100, loneAfter*4/3 + 5000} {
		rng := rand.New(rand.NewPCG(uint64(seed), 3))
		var packets []packet
		for i := range loneAfter*4/3 + 10_000 {
			p := packet{conversation: (1 + rng.Uint64N(500)) * 0x9e3779b97f4a7c15, point: 1, time: int64(i) * 1000, copied: rng.IntN(4) == 0}
			switch {
			case i == second:
				p.point, p.copied = 2, false
			case i > second && rng.IntN(3) == 0:
				p.point = 2
			case i > 0 && i < second && p.copied && rng.IntN(8) == 0:
				p.point, p.conversation = 2, packets[i-1].conversation
			}
			packets = append(packets, p)
		}
		want, table := ask(newTest(t, 1<<8), packets), newTest(t, 1<<8)
		for i := range second {
			if want[i] != (packets[i].point == 1) {
				t.Fatalf("packet %d of one point is not at home, or one of another is", i)
			}
		}
		for from := 0; from < len(packets); {
			to := min(from+1+rng.IntN(700), len(packets))
			if got := ask(table, packets[from:to]); !slices.Equal(got, want[from:to]) {
				t.Fatalf("second point at packet %d: other answers from packet %d to %d", second, from, to)
			}
			from = to
		}
	}
}
