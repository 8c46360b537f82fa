package rivals

import (
	"context"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
	"github.com/flowdedup/flowdedup/engine/window"
)

func TestTrace(t *testing.T) {
	const n, window, from = 500, 40, 100
	r := rand.New(rand.NewPCG(10, 0))
	elements, times := make([]uint32, n), make([]int64, n)
	for i := range elements {
		elements[i] = r.Uint32N(30)
		times[i] = times[max(i-1, 0)] + r.Int64N(4)
	}
	got := newTrace(elements, times, window, from)
	sum, most := 0, 0
	for i := range elements {
		since, held := int64(never), map[uint32]bool{}
		for j := range i + 1 {
			if j < i && elements[j] == elements[i] {
				since = times[i] - times[j]
			}
			if times[i]-times[j] < window {
				held[elements[j]] = true
			}
		}
		if got.since[i] != since {
			t.Fatalf("record %d came %d ago, want %d", i, got.since[i], since)
		}
		most = max(most, len(held))
		if i >= from {
			sum += len(held)
		}
	}
	if got.most != most || math.Abs(got.distinct-float64(sum)/(n-from)) > 1e-9 {
		t.Errorf("%v different elements, %d at most, want %v and %d", got.distinct, got.most, float64(sum)/(n-from), most)
	}
}

// oracle answers exactly for a window.
type oracle struct {
	window int64
	last   map[digest.Digest]int64
}

func (o *oracle) Bits() int { return 0 }

func (o *oracle) TestAndSet(d digest.Digest, now int64) bool {
	before, known := o.last[d]
	o.last[d] = now
	return known && now-before <= o.window
}

func TestVerdictsOfAnOracle(t *testing.T) {
	for _, tr := range []*trace{sliding(20_000, 500), packets(20_000, 1e6), crawl(20_000)} {
		v, err := tr.run(t.Context(), &oracle{tr.window, map[digest.Digest]int64{}})
		if err != nil || v.outside().seen != 0 || v.fnr() != 0 {
			t.Errorf("an exact window: %+v, error %v", v, err)
		}
		if all := v.outside().all + v.inside.all; all != len(tr.elements)-tr.from {
			t.Errorf("%d verdicts of %d records", all, len(tr.elements)-tr.from)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := crawl(10).run(ctx, &oracle{last: map[digest.Digest]int64{}}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// TestStreams checks that streams match their descriptions, within six standard
// deviations.
func TestStreams(t *testing.T) {
	s := sliding(200_000, 5000)
	fresh, late := 0, 0
	for i, since := range s.since {
		if since == never {
			fresh++
		}
		if i > 20_000 && since > 20_000 {
			late++
		}
	}
	plausible(t, "new elements", fresh, len(s.elements), .5, 0)
	if late != 0 {
		t.Errorf("%d lags above four windows", late)
	}
	const window = 1_000_000
	p := packets(200_000, window)
	fresh, copies, repeats := 0, 0, 0
	for i, since := range p.since {
		if i > 0 && p.times[i] < p.times[i-1] {
			t.Fatal("time runs backwards")
		}
		switch {
		case since == never:
			fresh++
		case since <= window/2:
			copies++
		case since > window && since <= 50*window:
			repeats++
		default:
			t.Fatalf("a packet comes again after %d", since)
		}
	}
	if math.Abs(float64(copies)/float64(fresh)-.6) > .015 {
		t.Errorf("%d copies of %d packets", copies, fresh)
	}
	plausible(t, "repeats", repeats, fresh, .02, .2) // some come after the end
	span := float64(p.times[len(p.times)-1]-p.times[0]) / 1e9
	if rate := float64(fresh) / span; rate < .7e6 || rate > 1.4e6 {
		t.Errorf("%.0f new packets a second", rate)
	}
	u := uniform(10_000)
	if slices.Max(u.elements) != 5999 {
		t.Errorf("%d different elements", slices.Max(u.elements)+1)
	}
	if z := zipfOf(20_000, 100); slices.Max(z.elements) != 99 {
		t.Errorf("%d different elements", slices.Max(z.elements)+1)
	}
}

func TestPareto(t *testing.T) {
	x := []float64{3, 1, 2, 2, 5, 1, 4, 2}
	y := []float64{1, 4, 2, 2, 0, 5, 1, 3}
	if got := pareto(x, y); !slices.Equal(got, []int{1, 2, 3, 0, 4}) {
		t.Errorf("front %v", got)
	}
	if pareto(nil, nil) != nil {
		t.Error("a front of nothing")
	}
}

func TestDiffer(t *testing.T) {
	for _, c := range []struct {
		ours, theirs float64
		of           int
		want         bool
	}{
		{.5, .5, 10, false}, {.52, .5, 1e6, false}, {.57, .5, 1e6, true}, {.57, .5, 100, false},
		{0, 0, 0, false}, {2e-4, 0, 1e6, true}, {6e-5, 0, 1e6, false},
	} {
		if got := differ(c.ours, c.theirs, c.of); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// TestGrid checks that the table of two methods shows what the runs gave.
func TestGrid(t *testing.T) {
	tr := sliding(30_000, 1000)
	g := grid{methods: []method{timedRows(16, 24, 8, lineBits), engineTimers(2, 1, true, func(n int64) window.Window { return window.Window{Packets: n} })}, memory: memoryFor(tr, []int{16, 64}), trace: tr}
	if err := g.run(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	table := g.table(bitLabels([]int{16, 64}))
	if len(table.Rows) != 2 || len(table.Columns) != 4 || len(table.Rows[0].Cells) != 4 || len(table.Notes) != 2 {
		t.Fatalf("table %+v", table)
	}
	if got := table.Rows[1].Cells[2].Ours; got != 100*g.cells[1][1].fresh.share() || got == 0 {
		t.Errorf("timers' rate %v", got)
	}
	if g.fpr(0, 1) != g.predicted[0][1] || g.predicted[0][1] == 0 {
		t.Errorf("a rate without events is %v, predicted %v", g.fpr(0, 1), g.predicted[0][1])
	}
	if got, want := g.fpr(1, 1), g.cells[1][1].fresh.share(); got != want {
		t.Errorf("a rate with events is %v, want %v", got, want)
	}
	for _, picture := range []result.Picture{g.front("rivals.test", "front"), g.byMemory([]int{16, 64})} {
		if err := picture.Chart.SVG(io.Discard); err != nil || strings.Contains(picture.File, ".") {
			t.Errorf("picture %q: %v", picture.File, err)
		}
	}
	g.cells[1][1].fresh.seen = 0
	if got, want := g.fpr(1, 1), 1/float64(g.cells[1][1].fresh.all); got != want {
		t.Errorf("a rate without events or prediction is %v, want %v", got, want)
	}
	g.memory = []int{1}
	if err := g.run(t.Context(), 1); err == nil {
		t.Error("one bit of memory: no error")
	}
}

func TestExperiment(t *testing.T) {
	e := Experiment()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, name := range e.Tables {
		if tables[name] == nil {
			t.Errorf("no table %s", name)
		}
	}
	if _, err := e.Run(ctx, "rivals.distinct", result.Options{Workers: 1}); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: error %v", err)
	}
	if _, err := e.Run(ctx, "rivals.none", result.Options{}); err == nil {
		t.Error("unknown table: no error")
	}
}

// TestDistinct checks that every method counts right within its own rates, and exact ones
// exactly.
func TestDistinct(t *testing.T) {
	const n = 20_000
	for _, of := range []func(uint32) uint32{scattered, clustered} {
		known := map[uint32]bool{}
		for id := range uint32(n) {
			known[of(id)] = true
		}
		if len(known) != n {
			t.Fatalf("%d different addresses", len(known))
		}
		for i, m := range distinctMethods() {
			c := must[counted](t)(m.run(t.Context(), addresses{n, of}, 1<<18))
			if c.errors.Distinct != n || c.errors.Duplicates != (sightings-1)*n {
				t.Fatalf("%s: %+v", m.name, c)
			}
			if off := math.Abs(float64(c.distinct) - n); i < 3 && off > 0 || i < 8 && off > .02*n || c.memory == 0 {
				t.Errorf("%s: counted %d of %d in %d bytes", m.name, c.distinct, n, c.memory)
			}
		}
	}
}

func TestBitset(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 0))
	for range 200 {
		const n = 300
		b, from := newBitset(n), r.Uint64N(n)
		count := r.Uint64N(n - from)
		for i := range uint64(n) {
			b.set(i)
		}
		b.clearRange(from, count)
		for i := range uint64(n) {
			if b.has(i) != (i < from || i >= from+count) {
				t.Fatalf("bit %d after clearing %d from %d", i, count, from)
			}
		}
	}
}
