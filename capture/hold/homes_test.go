// SPDX-License-Identifier: Apache-2.0

package hold

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/capture/traits"
	"github.com/flowdedup/flowdedup/engine/calendar"
	"github.com/flowdedup/flowdedup/layout"
)

const homeHold = time.Millisecond

// packet is a sighting.
type packet struct {
	conversation, fragment, point uint64
	time                          int64
	copied                        bool
}

// newTest makes a table that is closed with the test.
func newTest(t testing.TB, lines int) *homes {
	table, err := newHomes(lines, homeHold)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = table.Close() })
	return table
}

// ask asks about packets in a single call.
func ask(t *homes, packets []packet) []bool {
	var s homeSightings
	s.Copies = make([]uint64, (len(packets)+63)/64)
	for i, p := range packets {
		s.Conversation = append(s.Conversation, p.conversation)
		s.Fragment = append(s.Fragment, p.fragment)
		s.Point = append(s.Point, p.point)
		s.Times = append(s.Times, p.time)
		if p.copied {
			s.Copies[i/64] |= 1 << (i % 64)
		}
	}
	home, got := make([]uint64, len(s.Copies)), make([]bool, len(packets))
	for i := range home {
		home[i] = math.MaxUint64 // must be cleared
	}
	t.atHome(home, s)
	for i := range got {
		got[i] = home[i/64]>>(i%64)&1 != 0
	}
	return got
}

// at returns packets of a conversation at a point, a packet each step.
func at(n int, conversation, point uint64, from, step time.Duration) (packets []packet) {
	for i := range n {
		packets = append(packets, packet{conversation: conversation, point: point, time: int64(from) + int64(i)*int64(step)})
	}
	return packets
}

// copied returns packets as copies.
func copied(packets []packet) []packet {
	for i := range packets {
		packets[i].copied = true
	}
	return packets
}

// TestAtHome states each rule: how many of some packets are at home.
func TestAtHome(t *testing.T) {
	const c, d, a, b, ms = 1 << 40, 2 << 40, 7, 8, time.Millisecond
	first := at(1, c, a, 0, 0)
	cases := []struct {
		name    string
		packets [][]packet
		want    []int // at home, of each
	}{
		{"the first point is home", [][]packet{first, at(3, c, b, 1, 1), at(3, c, a, 9, 1)}, []int{1, 0, 3}},
		{"each conversation has its own", [][]packet{first, at(1, d, b, 0, 0), at(2, c, a, 9, 1), at(2, d, a, 9, 1), at(2, d, b, 20, 1)}, []int{1, 1, 2, 0, 2}},
		{"copies elsewhere are no misses", [][]packet{first, copied(at(500, c, b, 0, ms)), at(1, c, a, 0, 0)}, []int{1, 0, 1}},
		{"sixteen misses move it", [][]packet{first, at(15, c, b, ms, ms), at(1, c, b, 16*ms, 0), at(1, c, a, 17*ms, 0)}, []int{1, 0, 1, 0}},
		{"fifteen do not", [][]packet{first, at(15, c, b, ms, ms), at(1, c, a, 16*ms, 0), at(15, c, b, 17*ms, ms), at(1, c, a, 40*ms, 0)}, []int{1, 0, 1, 0, 1}},
		{"a burst ahead of home does not", [][]packet{first, at(500, c, b, 60*ms, 1000), at(500, c, a, 60*ms, 1000)}, []int{1, 0, 500}},
		{"nor one after a long pause", [][]packet{first, at(500, c, b, time.Hour, 1000), at(1, c, a, time.Hour, 0)}, []int{1, 0, 1}},
		{"a minute of misses moves it", [][]packet{first, at(7, c, b, 0, 10*time.Second), at(1, c, a, time.Minute, 0)}, []int{1, 1, 0}},
		{"misses at any point count", [][]packet{first, at(10, c, b, ms, ms), at(6, c, 9, 11*ms, ms), at(1, c, 9, 20*ms, ms)}, []int{1, 0, 1, 1}},
		{"a clock that steps back begins the row anew", [][]packet{first, at(10, c, b, time.Hour, ms), at(15, c, b, time.Minute, ms), at(1, c, b, 2*time.Minute, 0)}, []int{1, 0, 0, 1}},
		{"fragments follow their first", [][]packet{first, {{c, d, b, 1, false}}, at(2, d, b, 2, 1), at(2, d, a, 9, 1)}, []int{1, 0, 0, 2}},
		{"also those before it", [][]packet{first, at(2, d, b, 1, 1), {{c, d, b, 3, false}}, at(2, d, b, 4, 1), at(1, d, a, 9, 1)}, []int{1, 2, 0, 0, 1}},
		{"without a conversation", [][]packet{at(1, 0, a, 0, 0), at(1, 0, b, 0, 0)}, []int{1, 1}},
		{"without a time", [][]packet{first, at(9, c, b, calendar.NoTime, 0), at(1, c, a, 9, 0)}, []int{1, 9, 1}},
		{"the ends of time", [][]packet{at(1, c, a, math.MinInt64+1, 0), at(2, c, b, math.MaxInt64-1, 0), at(1, c, a, math.MinInt64+1, 0)}, []int{1, 0, 1}},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			table := newTest(t, 1)
			for i, packets := range test.packets {
				got := 0
				for _, home := range ask(table, packets) {
					if home {
						got++
					}
				}
				if got != test.want[i] {
					t.Errorf("step %d: %d of %d at home, want %d", i, got, len(packets), test.want[i])
				}
			}
		})
	}
}

// TestEviction fills a line with the conversations of an attacker. The latest stay,
// whatever the clock did before, and the rest begin anew.
func TestEviction(t *testing.T) {
	for name, old := range map[string]time.Duration{"past": 0, "future": 900 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			table, now := newTest(t, 1), 500*time.Hour
			for c := range uint64(1000) {
				ask(table, at(1, (c+5000)<<32, 7, old, 0))
			}
			for c := range uint64(layout.HomeCells) {
				ask(table, at(1, (c+1)<<32, 7, now+time.Duration(c), 0))
			}
			for c := range uint64(layout.HomeCells) {
				if ask(table, at(1, (c+1)<<32, 8, now, 0))[0] {
					t.Errorf("conversation %d was forgotten", c)
				}
			}
			if got := ask(table, at(1, 99<<32, 8, now+time.Hour, 0)); !got[0] {
				t.Error("a new conversation has a home")
			}
			if got := ask(table, at(1, 1<<32, 8, now+time.Hour, 0)); !got[0] {
				t.Error("the oldest conversation was not forgotten")
			}
		})
	}
}

// TestCuts asks about a random stream in random parts: the results are as of a single call.
func TestCuts(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var packets []packet
	now := int64(0)
	for range 20_000 {
		now += rng.Int64N(int64(homeHold)) - int64(homeHold)/4
		p := packet{conversation: (1 + rng.Uint64N(40)) * 0x9e3779b97f4a7c15, point: rng.Uint64N(3), time: now, copied: rng.IntN(2) == 0}
		switch rng.IntN(20) {
		case 0:
			p.fragment = (1 + rng.Uint64N(40)) * 0x9e3779b97f4a7c15
		case 1:
			p.time = calendar.NoTime
		case 2:
			p.conversation = 0
		case 3:
			now += rng.Int64N(int64(time.Minute)) - int64(time.Minute)/2
		}
		packets = append(packets, p)
	}
	want := ask(newTest(t, 4), packets)
	table := newTest(t, 4)
	for from := 0; from < len(packets); {
		to := min(from+rng.IntN(200), len(packets))
		for i, home := range ask(table, packets[from:to]) {
			if home != want[from+i] {
				t.Fatalf("packet %d: %v, in one call %v", from+i, home, want[from+i])
			}
		}
		from = to
	}
}

// BenchmarkAtHome asks about packets of many conversations.
func BenchmarkAtHome(b *testing.B) {
	const lines = conversations / layout.HomeCells
	for name, conversations := range map[string]uint64{"1k": 1 << 10, "256k": conversations} {
		b.Run(name, func(b *testing.B) {
			table, err := newHomes(lines, homeHold)
			if err != nil {
				b.Fatal(err)
			}
			defer table.Close()
			const n, calls = 4096, 128
			ask(table, []packet{{conversation: 1, point: 1, time: 1}, {conversation: 2, point: 2, time: 1}}) // there are several points
			s := homeSightings{Sightings: traits.Sightings{Conversation: make([]uint64, n*calls), Fragment: make([]uint64, n), Point: make([]uint64, n)}, Times: make([]int64, n), Copies: make([]uint64, n/64)}
			home, rng, all := make([]uint64, n/64), rand.New(rand.NewPCG(1, 2)), s.Conversation
			for i := range all {
				all[i] = (1 + rng.Uint64N(conversations)) * 0x9e3779b97f4a7c15
			}
			for i := 0; b.Loop(); i++ {
				s.Conversation = all[i%calls*n:][:n]
				table.atHome(home, s)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/packet")
		})
	}
}

// TestLone has a stream show a single point for long. Then the conversations of that time have
// their home there, whether they were noted or not, and for a minute so have new conversations.
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

// TestLoneCut gives the same answers, however a stream is cut into calls that shows a second
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
