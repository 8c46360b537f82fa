// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/calendar"
	"github.com/flowdedup/flowdedup/engine/distinct"
)

// TestPreallocate makes counters of the right size for the next window, once, gives them
// only to it, and closes counters whose window never comes.
func TestPreallocate(t *testing.T) {
	const hour, packets = int64(time.Hour), 100_000
	c := New(&Config{
		Keys: []Key{{Name: "src", PerPacket: 1}}, Calendar: calendar.Calendar{Every: time.Hour}, Method: methodAuto, FPR: 1e-9,
	})
	fill := func(w *window) {
		addrs, seen := make([]uint32, packets), make([]uint64, packets/64+1)
		for i := range addrs {
			addrs[i] = uint32(i)
		}
		if err := w.keys[0].addr4.begin(c.cfg.newAddresses, 0); err != nil {
			t.Fatal(err)
		}
		w.keys[0].addr4.TestAndSet(seen, addrs)
	}
	first := c.openWindow(0, hour)
	fill(first)
	if c.checkMemory(first, hour/8*7-1); c.preallocated != nil {
		t.Error("counters are made before the last eighth of a window")
	}
	c.checkMemory(first, hour/8*7)
	made := c.preallocated
	if c.checkMemory(first, hour-1); made == nil || c.preallocated != made {
		t.Fatalf("counters are not made once: %v, %v", made, c.preallocated)
	}
	if other := c.openWindow(5*hour, 6*hour); other.keys[0].addr4.preallocated != nil || c.preallocated != made {
		t.Error("another window than the next takes them")
	}
	next := c.openWindow(hour, 2*hour)
	ahead := next.keys[0].addr4.preallocated
	if ahead == nil || c.preallocated != nil {
		t.Fatal("the next window does not take them")
	}
	before := ahead.Counts().MemoryBytes
	fill(next)
	got := next.keys[0].addr4.Counts()
	if next.keys[0].addr4.Counter != ahead || got.Distinct != packets || got.MemoryBytes > before+before/8 {
		t.Errorf("%+v of %d bytes", got, before)
	}
	c.checkMemory(next, 2*hour-1)
	for _, w := range []*window{first, next} {
		c.closeWindow(w.start, w.end, w)
	}
	if err := c.Close(); err != nil || c.preallocated != nil {
		t.Errorf("after Close: %v, preallocated %v", err, c.preallocated)
	}
}

// TestPreallocateLeast preallocates from the least size on.
func TestPreallocateLeast(t *testing.T) {
	for elements, want := range map[int]int{8000: 0, 10_000: preallocateLeast} {
		rows, memory, all := must(distinct.NewDigestRows(0)), 0, make([]digest.Digest, elements)
		for i := range all {
			all[i] = digest.Digest{uint64(i) * 0x9e3779b97f4a7c15}
		}
		rows.TestAndSet(make([]uint64, elements/64+1), all)
		successor(&familyCounter[digest.Digest]{Counter: rows}, &familyCounter[digest.Digest]{}, nil, &memory)
		if err := rows.Close(); memory != want || err != nil {
			t.Errorf("%d bytes after %d elements, want %d; %v", memory, elements, want, err)
		}
	}
}

// TestEvictWindows closes the oldest of three equal windows where the others hold more than they may, at
// each evictCheck.
func TestEvictWindows(t *testing.T) {
	for _, r := range []struct {
		packets    uint64
		lack, open int
	}{{evictCheck, 0, 3}, {evictCheck, 1, 2}, {evictCheck + 1, 1, 3}, {evictCheck - budgetCheck, 1, 3}} {
		c := New(&Config{Keys: hostAndFlow[:1], Calendar: calendar.Calendar{Every: time.Second}})
		b := c.NewBatch()
		fill(b, []packet{{0, 8}, {1e9, 8}, {2e9, 8}})
		err := c.Count(b, nil)
		windows := slices.Collect(c.windows.All())
		c.packets, c.budget = r.packets, budget{total: 4 * (2*windows[0].memory(c.cfg) - r.lack)} // others have a quarter
		c.checkMemory(windows[2], 0)
		if open := len(slices.Collect(c.windows.All())); open != r.open || err != nil || c.Close() != nil {
			t.Errorf("%d packets, %d bytes too few: %d windows are open, want %d; %v", r.packets, r.lack, open, r.open, err)
		}
	}
}

// greedy is a counter that always needs twice its allowance.
type greedy struct{ has, limit int }

func (g *greedy) Limit(bytes int) { g.limit = bytes }

func (g *greedy) Needs(more int) int {
	if more > 0 {
		return 2 * g.has
	}
	return g.has
}

// TestBudgetSpread has counters that take all they may: they never have more than there
// is, the first that ask get most, and each that comes later gets its share.
func TestBudgetSpread(t *testing.T) {
	const total = 64 << 20
	b := budget{total: total, families: 4, windows: 2}
	slots := b.families * b.windows
	var all []engine.Bounded
	for range slots {
		all = append(all, &greedy{has: 1 << 10})
		for range 20 {
			b.spread(all, b.windows, total/16, func(engine.Bounded) bool { return false })
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
	if first, last := all[0].(*greedy).has, all[slots-1].(*greedy).has; first < total/4 || last*2 < b.share() {
		t.Errorf("the first has %d, the last %d, each share is %d", first, last, b.share())
	}
}

// TestBudgetPeak lets a counter grow only where there is memory for both its sizes while it grows: half
// of the new one besides, 2 MiB at most.
func TestBudgetPeak(t *testing.T) {
	for _, c := range []struct{ has, grows int }{{1 << 20, 2<<20 + 1<<20}, {2 << 20, 4<<20 + 2<<20}, {16 << 20, 32<<20 + 2<<20}} {
		for lack, limit := range map[int]int{0: 2 * c.has, 1: c.has} {
			b := budget{total: c.grows - lack, families: 1, windows: 1}
			g := &greedy{has: c.has}
			if b.spread([]engine.Bounded{g}, 1, 0, func(engine.Bounded) bool { return false }); g.limit != limit || b.held > b.total {
				t.Errorf("%d bytes of %d: at most %d, want %d; %d held", c.has, b.total, g.limit, limit, b.held)
			}
		}
	}
}

// randomBatch fills a batch with one random element of each key a packet: bare addresses
// of the keys named "src" and "dst", digests of the others.
func randomBatch(b *Batch, rng *rand.Rand, times []int64) {
	b.Reset(times)
	addRandom(b, rng, b.Direct(), upTo(len(times)))
	b.Derive = func(i int, v4, _ []uint32) { addRandom(b, rng, b.Derived()[i].Keys, v4) }
}

func addRandom(b *Batch, rng *rand.Rand, keys []int, numbers []uint32) {
	for _, key := range keys {
		if name := b.counter.cfg.Keys[key].Name; name == "src" || name == "dst" {
			for i, items := 0, b.Elements(key).Addr4.Add(numbers, 0); i < len(items); i++ {
				items[i] = rng.Uint32()
			}
			continue
		}
		for i, items := 0, b.Elements(key).V4.Add(numbers, 0); i < len(items); i++ {
			items[i] = digest.Digest{rng.Uint64(), rng.Uint64()}
		}
	}
}

// TestBudgetPast floods a counter that counts the past hour too.
func TestBudgetPast(t *testing.T) {
	const total, packets, batch = 12 << 20, 1 << 19, 2048
	c := New(&Config{
		Keys:     []Key{{Name: "src", PerPacket: 1}, {Name: "flow", PerPacket: 1}},
		Implies:  func(i, j int) bool { return i == 1 || i == j },
		Calendar: calendar.Calendar{Every: time.Hour}, Past: time.Hour, Method: methodAuto, FPR: 1e-9, Budget: total,
	})
	defer c.Close()
	rng, b, times := rand.New(rand.NewPCG(33, 34)), c.NewBatch(), make([]int64, batch)
	now := int64(0)
	for sent := 0; sent < packets; sent += batch {
		for i := range times {
			now = int64(sent+i) * int64(time.Hour) / packets
			times[i] = now
		}
		randomBatch(b, rng, times)
		if err := c.Count(b, nil); err != nil {
			t.Fatal(err)
		}
		if sent%(1<<16) == 0 {
			checkBudget(t, c, total)
		}
	}
	if n := c.windowsWithShares(); n != 2 {
		t.Errorf("%d windows with shares, want one and the past", n)
	}
	step := int64(pastStep(time.Hour))
	for _, counts := range [][]Count{c.Past(now - now%step + step - 1), currentOf(c)} {
		checkFlood(t, counts, packets)
	}
}

func currentOf(c *Counter) []Count {
	_, _, counts := c.Current()
	return counts
}

// checkBudget adds up the memory of all counters. Apart from rows this is the overflow,
// and small change.
func checkBudget(t *testing.T, c *Counter, total int) {
	t.Helper()
	sum := 0
	for _, counts := range [][]Count{c.Past(0), currentOf(c)} {
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

// checkFlood wants valid bounds for keys that are all different except for a few random
// sources.
func checkFlood(t *testing.T, counts []Count, packets uint64) {
	t.Helper()
	for _, one := range counts {
		if one.Family != "ipv4" {
			continue
		}
		if one.Low > packets || one.High < packets-100 || one.High-one.Low > packets/10 {
			t.Errorf("%s: %+v, want %d", one.Key, one.Counts, packets)
		}
		if one.Key == "flow" && one.Low == one.High {
			t.Errorf("%s is not a sample's: that tests nothing", one.Key)
		}
	}
}

// TestBudgetOfShortWindows counts windows of a few packets whose times jitter over many of
// them, and floods: all counters together stay within the budget after each packet batch,
// from the least budget on.
func TestBudgetOfShortWindows(t *testing.T) {
	for _, c := range []struct {
		perWindow int64
		times     int // the least budget
		changes   bool
	}{{50, 1, false}, {50, 4, true}, {5000, 1, true}, {5000, 4, false}, {1 << 20, 1, false}} {
		cfg := &Config{
			Keys:     []Key{{Name: "src", PerPacket: 1}, {Name: "flow", PerPacket: 1}},
			Calendar: calendar.Calendar{Every: time.Second}, Changes: c.changes,
		}
		cfg.Budget = c.times * cfg.LeastBudget()
		counter := New(cfg)
		rng, b, times := rand.New(rand.NewPCG(35, 36)), counter.NewBatch(), make([]int64, 500)
		for sent := int64(0); sent < 200_000; sent += int64(len(times)) {
			for i := range times {
				times[i] = (sent+int64(i))*int64(time.Second)/c.perWindow + rng.Int64N(20*int64(time.Second))
			}
			randomBatch(b, rng, times)
			if err := counter.Count(b, nil); err != nil {
				t.Fatal(err)
			}
			sum := 0
			for w := range counter.windows.All() {
				sum += w.memory(counter.cfg)
			}
			if sum > cfg.Budget {
				t.Fatalf("%d packets a window: counters hold %d bytes, may have %d", c.perWindow, sum, cfg.Budget)
			}
		}
		if err := counter.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
