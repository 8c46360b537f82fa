// SPDX-License-Identifier: Apache-2.0

package distributed

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
	"github.com/flowdedup/flowdedup/bench/papers/internal/stream"
	"github.com/flowdedup/flowdedup/engine/paper"
)

// TestStreams: a stream has the data set's number of distinct events within six
// standard deviations, whose square is at most the expected number.
func TestStreams(t *testing.T) {
	all := []dataset{webLog, synthetic, syntheticUniform, yahoo}
	for i := range lookups {
		all = append(all, lookupJob(i, vertical, false, 1).data)
	}
	for _, data := range all {
		fewer := data
		fewer.domain--
		if want := float64(data.distinct); distinctOf(data.chances(), events) < want || distinctOf(fewer.chances(), events) >= want {
			t.Errorf("%s: %d ids are not the least number", data.name, data.domain)
		}
		known, distinct := stream.NewKnown(data.domain), 0
		for _, id := range data.draw(events, 1000) {
			if !known.Add(id) {
				distinct++
			}
		}
		if math.Abs(float64(distinct-data.distinct)) > 6*math.Sqrt(float64(data.distinct)) {
			t.Errorf("%s: %d of %d events are distinct, want about %d", data.name, distinct, events, data.distinct)
		}
	}
}

// TestMeasuredRates compares the means of the runs with the closed form, within six
// standard deviations of the false positives' number.
func TestMeasuredRates(t *testing.T) {
	var jobs []job
	for _, way := range slicings {
		config := paper.SlicedConfig{Bits: synthetic.bits[2], K: hashes, Slices: 100}
		jobs = append(jobs, job{data: synthetic, way: way, config: config})
	}
	o := result.Options{Workers: 2}
	outcomes := measure(o, jobs)
	for i, j := range jobs {
		want := j.expectedFPR()
		if bound := 6 * math.Sqrt(want/float64(runs(o)*synthetic.distinct)); math.Abs(outcomes[i].fpr-want) > bound {
			t.Errorf("%v: false positive rate %.4f, want %.4f +- %.4f", j.way, outcomes[i].fpr, want, bound)
		}
	}
	v, h := outcomes[0], outcomes[1]
	if v.fairness <= h.fairness || v.maxLoad >= h.maxLoad || v.accesses <= 3 || math.Abs(h.accesses-1) > 1e-9 {
		t.Errorf("vertical %+v, horizontal %+v", v, h)
	}
}

// short returns short streams.
func short(events int) *source {
	s := newSource(result.Options{})
	s.events, s.seeds = events, 1
	return s
}

// TestEqualTimersBalance checks the claim of the paper's text: k' = 2 is enough for a
// vertical filter, and takes k' = 3 in horizontal slices.
func TestEqualTimersBalance(t *testing.T) {
	s := short(30_000)
	var results []equalResult
	for _, r := range append(equalRuns(1000, 1)[:2], equalRuns(1000, equalSlices)[:3]...) {
		results = append(results, r.measure(s, 1))
	}
	v1, v2, h1, h2, h3 := results[0].own, results[1].own, results[2].own, results[3].own, results[4].own
	if v1.FalseNegatives != 0 || h1.FalseNegatives != 0 {
		t.Errorf("without the heuristic %d and %d are missed", v1.FalseNegatives, h1.FalseNegatives)
	}
	if v2.FPR() > v1.FPR()/5 || v2.FNR() > .02 {
		t.Errorf("V, k' = 2: FPR %.4f after %.4f, FNR %.4f", v2.FPR(), v1.FPR(), v2.FNR())
	}
	if h2.FPR() < h1.FPR()/2 || h3.FPR() > h1.FPR()/2 || h3.FNR() > .05 {
		t.Errorf("H: FPR %.4f, %.4f, %.4f, FNR %.4f", h1.FPR(), h2.FPR(), h3.FPR(), h3.FNR())
	}
	if total := groupsTotal(results[0]); total != s.events {
		t.Errorf("%d events in groups, want %d", total, s.events)
	}
}

func groupsTotal(r equalResult) (total int) {
	for _, g := range r.groups {
		total += g.Distinct + g.Duplicates
	}
	return total
}

func TestUnits(t *testing.T) {
	r := burstRun{window: 2, burst: 5}
	const n = 36 // thirds of 12; the burst takes 3 units, the last of 2 events
	var units []uint64
	var parts []int
	for i := range n {
		unit, phase, settled := r.place(i, n)
		units = append(units, unit)
		if !settled {
			phase = phases
		}
		parts = append(parts, phase)
	}
	if want := []uint64{11, 12, 12, 12, 12, 12, 13, 13, 13, 13, 13, 14, 14, 15, 16}; !slices.Equal(units[11:26], want) {
		t.Errorf("units are %v, want %v", units[11:26], want)
	}
	if first, in, last := slices.Index(parts, before), slices.Index(parts, during), slices.Index(parts, after); first != 6 || in != 22 || last != 30 {
		t.Errorf("phases begin at %d, %d and %d", first, in, last)
	}
}

func TestDeliveries(t *testing.T) {
	d := newDeliveries(5, 10)
	if d.recent(3, 0) {
		t.Error("delivered before anything was")
	}
	d.add(3, 0)
	if !d.recent(3, 9) || d.recent(3, 10) || d.recent(4, 9) {
		t.Error("the window is not ten units")
	}
}

// The paper's sizes for k = 4 and 5700 elements are 48400, 35600 and 30000.
func TestSizes(t *testing.T) {
	for fpr, want := range map[float64]float64{.02: 48400, .05: 35600, .08: 30000} {
		if got := float64(size(4, 5700, fpr)); math.Abs(got-want) > .006*want {
			t.Errorf("%g: %g timers, want about %g", fpr, got, want)
		}
	}
	s := newSource(result.Options{})
	if got := s.distinct(s.events); math.Abs(got-16_850) > 1 {
		t.Errorf("%.1f distinct elements, want 16850", got)
	}
}

// TestInterleavings compares two sequences in the same order with the closed form for z
// clear bits, (z-1)/(z+1), averaged over z; all bits at once deliver no copy. The bound is
// five standard deviations.
func TestInterleavings(t *testing.T) {
	const k, trials = 4, 40_000
	random := rand.New(rand.NewPCG(1, 2))
	want, weight := 0.0, 0.0
	for z, ways := range []float64{1, 4, 6, 4, 1} {
		if z > 0 {
			want += ways * float64(z-1) / float64(z+1)
			weight += ways
		}
	}
	want /= weight
	extra, locked := 0, 0
	for range trials {
		extra += interleaving{ordered: true}.trial(random, k, 2, .5) - 1
		locked += interleaving{slices: 1}.trial(random, k, 3, .5) - 1
	}
	if got := float64(extra) / trials; math.Abs(got-want) > 5*math.Sqrt(want/trials) || locked != 0 {
		t.Errorf("%.4f of copies delivered, want %.4f; %d with a lock", got, want, locked)
	}
}
