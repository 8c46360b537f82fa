// SPDX-License-Identifier: Apache-2.0

package paper

import (
	"fmt"
	"math"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine/cluster/chain"
	"github.com/flowdedup/flowdedup/engine/hubclient"
	"github.com/flowdedup/flowdedup/engine/paper"
)

// burst is a run of Figures 10 and 11: a filter of timers of dynamic size, whose stream comes at
// rate events a unit in its second third, and at one in the others.
type burst struct {
	of           dataset
	window, rate int
	grow         string
}

const (
	burstFPR   = 0.05 // at which a filter is full
	burstLimit = 64   // filters
	thirds     = 3
)

// timers is the size of a filter: a window of distinct events fills it.
func (b burst) timers() int {
	return int(math.Ceil(-hashes * float64(b.window) / math.Log1p(-math.Pow(burstFPR, 1./hashes))))
}

// shape is the filter of the hub. Its window has one unit more than asked for, which the elements'
// unit makes up for.
func (b burst) shape() chain.Shape {
	bytes := 4 * b.timers()
	return chain.Shape{
		Layout: chain.Horizontal, H: 1, V: 1, Filter: chain.Timers, Hashes: hashes, Bytes: bytes, Primitive: chain.FirstTestThenSet,
		AtLeast: hashes, WindowUS: int64(b.window-1) * hubclient.DeltaUnit, Grow: b.grow, FPR: burstFPR, Limit: burstLimit * bytes,
	}
}

// model is the same filter of engine/paper.
func (b burst) model() (*paper.Dynamic, error) {
	rule := paper.ByDensity
	if b.grow == chain.ByCardinality {
		rule = paper.ByCardinality
	}
	return paper.NewDynamic(paper.DynamicConfig{
		Filter: paper.TimerConfig{Timers: b.timers(), K: hashes, Window: b.window}, FPR: burstFPR, Rule: rule, MaxFilters: burstLimit,
	})
}

// unit returns when an event comes, and its third.
func (b burst) unit(i int) (unit, third int) {
	const each = events / thirds
	third = min(i/each, thirds-1)
	in := i - third*each
	switch third {
	case 1:
		return each + in/b.rate, third
	case 2:
		return each + each/b.rate + in, third
	}
	return in, third
}

// counts are what a run counts in each third: false positives of events that the window has not,
// and filters alive, at some events.
type counts struct{ wrong, fresh, filters, looks [thirds]int }

// look is how often filters are counted, in events.
const look = 500

// add counts an event. last has the unit in which each element was new in the window.
func (c *counts) add(b burst, last map[uint32]int, i int, id uint32, seen bool) {
	unit, third := b.unit(i)
	at, known := last[id]
	if !known || unit-at >= b.window {
		c.fresh[third]++
		if seen {
			c.wrong[third]++
			return
		}
	}
	if !seen {
		last[id] = unit
	}
}

// values are filters alive and false positives in percent, by third.
func (c *counts) values() (all []float64) {
	for third := range thirds {
		all = append(all, float64(c.filters[third])/float64(c.looks[third]), 100*float64(c.wrong[third])/float64(c.fresh[third]))
	}
	return all
}

// wire runs the stream through a hub. Each verdict, and each number of filters, must equal the
// model's.
func (b burst) wire(t *testing.T) (values []float64) {
	t.Run("wire", func(t *testing.T) {
		p, c, last := newProduct(t, b.shape()), counts{}, map[uint32]int{}
		model, err := b.model()
		if err != nil {
			t.Fatal(err)
		}
		if got := p.settings.Shape.Window(); got != uint64(b.window) {
			t.Fatalf("a window of %d units", got)
		}
		ids, digests, times := b.of.draw(simulations), make([]digest.Digest, look), make([]int64, look)
		const start = 1e14 // units of the model count from there
		for from := 0; from < events; from += look {
			for i := range digests {
				unit, _ := b.unit(from + i)
				digests[i], times[i] = digestOf(simulations, ids[from+i]), (start+int64(unit))*hubclient.DeltaUnit*1000
			}
			seen, unchecked := askAt(p.client, digests, times)
			if unchecked > 0 {
				t.Fatalf("%d elements have no answer", unchecked)
			}
			for i := range seen {
				unit, _ := b.unit(from + i)
				element := digest.Digest{digests[i][0] & (1<<hubclient.DigestBits - 1), 0}
				if want := model.TestAndSetAt(element, start+uint64(unit)); seen[i] != want {
					t.Fatalf("event %d: duplicate %v, want %v", from+i, seen[i], want)
				}
				c.add(b, last, from+i, ids[from+i], seen[i])
			}
			filters := p.hub.Status().PerSlice[0].Filters
			if filters != model.Filters() {
				t.Fatalf("event %d: %d filters, want %d", from, filters, model.Filters())
			}
			_, third := b.unit(from + look - 1)
			c.filters[third] += filters
			c.looks[third]++
		}
		values = c.values()
	})
	return values
}

// simulate runs streams through the model.
func (b burst) simulate(t *testing.T) [][]float64 {
	return simulate(t, func(run int) ([]float64, error) {
		model, err := b.model()
		c, last := counts{}, map[uint32]int{}
		for i, id := range b.of.draw(run) {
			unit, third := b.unit(i)
			c.add(b, last, i, id, model.TestAndSetAt(digestOf(run, id), uint64(unit)))
			if (i+1)%look == 0 {
				c.filters[third] += model.Filters()
				c.looks[third]++
			}
		}
		return c.values(), err
	})
}

// bursts is Figures 10 and 11, for the synthetic and the Yahoo streams, too.
func (r *redone) bursts() {
	var runs []burst
	for _, grow := range chain.Growths {
		for _, rate := range []int{2, 5} {
			for _, window := range []int{100, 500, 1000} {
				runs = append(runs, burst{webLog, window, rate, grow})
			}
			runs = append(runs, burst{synthetic, 1000, rate, grow}, burst{yahoo, 1000, rate, grow})
		}
	}
	tables := [2]string{}
	for _, b := range runs {
		wire, simulated := b.wire(r.t), b.simulate(r.t)
		if len(wire) == 0 {
			return // the test has failed
		}
		what := fmt.Sprintf("%s, window %d, %s, x%d", b.of.name, b.window, b.grow, b.rate)
		for figure, floor := range []float64{0.3, 0.5} {
			tables[figure] += "| " + what
			for third := range thirds {
				at := 2*third + figure
				tables[figure] += " | " + r.compare(what, wire[at], simulated[at], floor)
			}
			tables[figure] += " |\n"
		}
	}
	columns := []string{"stream", "before", "simulated", "burst", "simulated", "after", "simulated"}
	r.table("Figure 10: filters alive before, in and after a burst, as each is full at 5 %", columns...)
	r.out.WriteString(tables[0])
	r.table("Figure 11: false positives in %", columns...)
	r.out.WriteString(tables[1])
}

// TestBurst runs a burst of the shortest window.
func TestBurst(t *testing.T) {
	for _, grow := range chain.Growths {
		b := burst{yahoo, 100, 5, grow}
		wire := b.wire(t)
		if len(wire) > 0 && (wire[2] <= wire[0] || wire[4] >= wire[2]) {
			t.Errorf("%s: filters before, in and after the burst: %.1f, %.1f, %.1f", grow, wire[0], wire[2], wire[4])
		}
	}
}
