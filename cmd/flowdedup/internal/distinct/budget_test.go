package distinct

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/flow"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/input"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/calendar"
)

// greedy is a counter that always needs twice what it may have.
type greedy struct{ has, limit int }

func (g *greedy) Limit(bytes int) { g.limit = bytes }

func (g *greedy) Needs(more int) int {
	if more > 0 {
		return 2 * g.has
	}
	return g.has
}

// TestBudgetSpread has counters that take all they may: they never have more than there is, the
// first that ask get most, and each that comes later gets its share.
func TestBudgetSpread(t *testing.T) {
	const total = 64 << 20
	b := budget{total: total, slots: 8}
	var all []engine.Bounded
	for range b.slots {
		all = append(all, &greedy{has: 1 << 10})
		for range 20 {
			b.spread(all, total/16)
			sum := total / 16
			for _, c := range all {
				g := c.(*greedy)
				if 2*g.has <= g.limit {
					g.has *= 2
				}
				sum += g.has
			}
			if sum > total {
				t.Fatalf("%d counters have %d bytes of %d", len(all), sum, total)
			}
		}
	}
	if first, last := all[0].(*greedy).has, all[b.slots-1].(*greedy).has; first < total/4 || last*2 < b.share() {
		t.Errorf("the first has %d, the last %d, each share is %d", first, last, b.share())
	}
}

// TestBudget counts hours of many sources and flows in little memory. What is told does not depend on
// workers and batches, takes no more than it may, and has bounds: at this key all hold, of
// which each does with 95 %.
func TestBudget(t *testing.T) {
	const packets, total = 300_000, 8 << 20
	name := crowded(t, packets, 0, 1, 2)
	var want []Row
	for _, c := range []struct{ workers, chunk int }{{1, 0}, {3, 100_000}, {1, 70_001}} {
		t.Run(fmt.Sprintf("workers=%d/chunk=%d", c.workers, c.chunk), func(t *testing.T) {
			var rows []Row
			_, err := Run(context.Background(), Config{
				Inputs: []string{name}, Input: input.Options{ChunkSize: c.chunk}, Workers: c.workers,
				Keys:     []flow.KeyConfig{{Of: flow.Src}, {Of: flow.Flow}, {Of: flow.Pair}},
				Calendar: calendar.Calendar{Every: time.Hour}, Method: methodAuto, FPR: 1e-9, Budget: total,
				Rows: func(r []Row) error { rows = append(rows, r...); return nil },
			})
			if err != nil {
				t.Fatal(err)
			}
			sampled, memory := 0, map[string]int{}
			for _, r := range rows {
				if r.Family != "all" {
					continue
				}
				if r.Low > packets || r.High < packets || r.High-r.Low > packets/10 {
					t.Errorf("%s: %d (%d to %d), want %d", r.Of, r.Distinct, r.Low, r.High, packets)
				}
				if r.Low < r.High {
					sampled++
				}
				memory[*r.WindowStart] += r.MemoryBytes
			}
			for window, bytes := range memory {
				if bytes > total {
					t.Errorf("%s: %d bytes, may have %d", window, bytes, total)
				}
			}
			if sampled == 0 || sampled == 9 {
				t.Errorf("%d of 9 counts are of samples: that tests nothing", sampled)
			}
			if want == nil {
				want = rows
			}
			if !slices.EqualFunc(rows, want, equalRows) {
				t.Errorf("rows %+v, want %+v", rows, want)
			}
		})
	}
}

// TestBudgetPast floods a run that counts the past hour too.
func TestBudgetPast(t *testing.T) {
	const total, packets, batch = 12 << 20, 1 << 19, 2048
	cfg := &Config{
		Keys:     []flow.KeyConfig{{Of: flow.Src}, {Of: flow.Flow}},
		Calendar: calendar.Calendar{Every: time.Hour}, Past: time.Hour, Method: methodAuto, FPR: 1e-9, Budget: total,
		Rows: func([]Row) error { return nil },
	}
	c := NewCounting(cfg)
	defer c.Close()
	rng, task := rand.New(rand.NewPCG(33, 34)), &task{packets: c.NewPackets()}
	b := &capture.Batch{Interfaces: []capture.Interface{{LinkType: capture.LinkRaw}}, Sections: make([]capture.Section, 1)}
	now := int64(0)
	for sent := 0; sent < packets; sent += batch {
		b.Buf, b.Frames = b.Buf[:0], b.Frames[:0]
		for i := range batch {
			now = int64(sent+i) * int64(time.Hour) / packets
			b.Frames = append(b.Frames, capture.Frame{Data: uint32(len(b.Buf)), CapLen: 28, WireLen: 28, Time: now})
			b.Buf = append(b.Buf, 0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0)
			b.Buf = binary.BigEndian.AppendUint64(b.Buf, rng.Uint64())
			b.Buf = binary.BigEndian.AppendUint64(b.Buf, rng.Uint64())
		}
		task.Prepare(b)
		if err := task.Apply(b); err != nil {
			t.Fatal(err)
		}
		if sent%(1<<16) == 0 {
			checkBudget(t, c, total)
		}
	}
	step := int64(pastStep(time.Hour))
	for _, counts := range [][]Count{c.Past(now - now%step + step - 1), presentOf(c)} {
		checkFlood(t, counts, packets)
	}
}

func presentOf(c *Counting) []Count {
	_, _, counts := c.Present()
	return counts
}

// checkBudget adds up what all counters hold. Beside rows that is what has spilled, and small
// change.
func checkBudget(t *testing.T, c *Counting, total int) {
	t.Helper()
	sum := 0
	for _, counts := range [][]Count{c.Past(0), presentOf(c)} {
		for _, one := range counts {
			if one.Family == "all" {
				sum += one.MemoryBytes
			}
		}
	}
	if sum > total {
		t.Fatalf("all counters hold %d bytes, may have %d", sum, total)
	}
}

// checkFlood wants bounds that hold of keys that are all different but for a few random sources.
func checkFlood(t *testing.T, counts []Count, packets uint64) {
	t.Helper()
	for _, one := range counts {
		if one.Family != "ipv4" {
			continue
		}
		if one.Low > packets || one.High < packets-100 || one.High-one.Low > packets/10 {
			t.Errorf("%s: %+v, want %d", one.Of, one.Counts, packets)
		}
		if one.Of == "flow" && one.Low == one.High {
			t.Errorf("%s is not a sample's: that tests nothing", one.Of)
		}
	}
}
