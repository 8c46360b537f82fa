// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"
)

const us, ms = int64(time.Microsecond), int64(time.Millisecond)

// sameness makes packets of tests equal.
type sameness struct {
	id, flow         uint32
	answer, six, arp bool
}

func (p *packet) identity() sameness { return sameness{p.id, p.flow, p.answer, p.six, p.arp} }

// direction is a direction of a conversation.
type direction struct {
	flow        uint32
	answer, six bool
}

// model matches packets with plain maps: the equal packets of both sides, in order, one to
// one. Packets more than a window behind the other side's are skipped.
func model(a, b []packet, offset, window int64) (mates map[int]int, missing [2][]int) {
	lists := map[sameness]*[2][]int{}
	for side, packets := range [2][]packet{a, b} {
		for i := range packets {
			id := packets[i].identity()
			if lists[id] == nil {
				lists[id] = &[2][]int{}
			}
			lists[id][side] = append(lists[id][side], i)
		}
	}
	mates = map[int]int{}
	for _, l := range lists {
		i, j := 0, 0
		for i < len(l[0]) && j < len(l[1]) {
			switch d := b[l[1][j]].time - a[l[0][i]].time - offset; {
			case d > window:
				missing[0] = append(missing[0], l[0][i])
				i++
			case d < -window:
				missing[1] = append(missing[1], l[1][j])
				j++
			default:
				mates[l[1][j]] = l[0][i]
				i, j = i+1, j+1
			}
		}
		missing[0], missing[1] = append(missing[0], l[0][i:]...), append(missing[1], l[1][j:]...)
	}
	slices.Sort(missing[0])
	slices.Sort(missing[1])
	return mates, missing
}

// reordered counts the packets of B that come behind a later packet of their direction.
func reordered(b []packet, mates map[int]int) (n uint64) {
	latest := map[direction]int{}
	for i := range b {
		a, ok := mates[i]
		if !ok || b[i].arp {
			continue
		}
		d := direction{b[i].flow, b[i].answer, b[i].six}
		if last, ok := latest[d]; ok && a < last {
			n++
			continue
		}
		latest[d] = a
	}
	return n
}

// random is how random streams are made.
type random struct {
	loss, repeats  float64
	jitter, offset int64
	drift          float64
}

// sides makes n packets, and how both sides see them. No two equal packets lie about a
// window of 10 ms apart.
func (x random) sides(r *rand.Rand, n int) (a, b []packet) {
	now := int64(0)
	for i := range n {
		now += r.Int64N(200 * us)
		p := packet{time: now, id: uint32(i), flow: r.Uint32N(40), answer: r.IntN(2) == 0, six: r.IntN(4) == 0}
		if r.IntN(30) == 0 {
			p = packet{time: now, id: uint32(i), arp: true}
		}
		times := []int64{now}
		if r.Float64() < x.repeats {
			times = append(times, now+[]int64{100 * us, 3 * ms, 18 * ms, 60 * ms}[r.IntN(4)])
		}
		for _, t := range times {
			p.time = t
			if r.Float64() >= x.loss {
				a = append(a, p)
			}
			p.time = t + x.offset + int64(x.drift*float64(t)) + r.Int64N(x.jitter+1)
			if r.Float64() >= x.loss {
				b = append(b, p)
			}
		}
	}
	for _, packets := range [][]packet{a, b} {
		slices.SortStableFunc(packets, func(a, b packet) int { return int(a.time - b.time) })
	}
	return a, b
}

// TestModel compares with the model, however the streams are cut into batches.
func TestModel(t *testing.T) {
	const window = 10 * ms
	for i, x := range []random{
		{}, {loss: 0.05}, {loss: 0.3, repeats: 0.3}, {loss: 0.05, repeats: 0.2, jitter: 2 * ms},
		{loss: 0.02, repeats: 0.5, jitter: ms, offset: -7_200_000 * ms}, {loss: 0.9, jitter: 10 * us}, {repeats: 1, jitter: us, offset: 3700 * ms},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			a, b := x.sides(rand.New(rand.NewPCG(uint64(i), 5)), some(8_000))
			mates, missing := model(a, b, x.offset+x.jitter/2, window)
			var first *Report
			for _, most := range []int{1, 300, 50_000} {
				r, got := compared(Config{Window: time.Duration(window)}, a, b, most)
				if !reflect.DeepEqual(got, missing) {
					t.Fatalf("%d and %d packets of one side alone, want %d and %d", len(got[0]), len(got[1]), len(missing[0]), len(missing[1]))
				}
				want := Counts{Both: uint64(len(mates)), OnlyA: uint64(len(missing[0])), OnlyB: uint64(len(missing[1]))}
				if all := r.all(); all != want || r.Reordered != reordered(b, mates) {
					t.Errorf("%+v, %d reordered; want %+v, %d", r.Counts, r.Reordered, want, reordered(b, mates))
				}
				checkSums(t, r)
				if first == nil {
					first = r
				} else if !reflect.DeepEqual(r, first) {
					t.Errorf("batches of up to %d make a difference: %+v, %+v", most, r, first)
				}
			}
		})
	}
}

// checkSums checks that the parts of a report add up.
func checkSums(t *testing.T, r *Report) {
	t.Helper()
	var protocols, conversations Counts
	for _, c := range r.Protocols {
		protocols.add(c)
	}
	for _, c := range r.Conversations {
		conversations.add(c.Counts)
	}
	non := r.Protocols["non_ip"]
	conversations.add(non)
	if protocols != r.Counts || len(r.Conversations) < 100 && conversations != r.Counts {
		t.Errorf("protocols of %+v, conversations of %+v, want %+v", protocols, conversations, r.Counts)
	}
	var bars uint64
	for _, b := range r.Bins {
		bars += b.Count
	}
	if r.Sampled == 1 && bars > r.Both || r.all() != (Counts{Both: r.Both, OnlyA: r.Sides[0].Packets - r.Both, OnlyB: r.Sides[1].Packets - r.Both}) {
		t.Errorf("%d delays, %+v, %+v", bars, r.Counts, r.Sides)
	}
	if d := r.Delays; d.P50 > d.P90 || d.P90 > d.P99 || d.P99 > d.P999 || d.P999 > d.Max || d.P50 < 0 {
		t.Errorf("delays %+v", d)
	}
}

// all returns the counts with the packets from before and after the common time.
func (r *Report) all() Counts {
	return Counts{r.Both, r.OnlyA + r.Sides[0].Outside, r.OnlyB + r.Sides[1].Outside}
}

func (c *Counts) add(o Counts) {
	c.Both, c.OnlyA, c.OnlyB = c.Both+o.Both, c.OnlyA+o.OnlyA, c.OnlyB+o.OnlyB
}
