// SPDX-License-Identifier: Apache-2.0

package peers

import "testing"

// TestRivals gives every filter a small job and checks its answers: the tables would mean
// nothing if one of them were not really used.
func TestRivals(t *testing.T) {
	const memory, elements, window = 64 << 10, 10_000, 2048
	for _, r := range knownRivals(memory) {
		run(t, r, stream{1, memory / 2}, keyOf, memory, limits{fpr: 0.02})
	}
	for _, r := range growingRivals(elements) {
		run(t, r, stream{2, elements}, keyOf, 2*elements, limits{fpr: 0.01})
	}
	for _, r := range addressRivals {
		run(t, r, stream{4, elements}, spreadAddress, 2*elements, limits{})
		run(t, r, stream{4, elements}, denseAddress, 2*elements, limits{})
	}
	forgetting := map[string]float64{
		"flowdedup-rows-16x32-lru": 1e-3, "flowdedup-timed": 0.1,
		"boom-stable-1-bit": 0.2, "boom-stable-3-bits": 0.2, "boom-inverse": 0.6,
	}
	for _, r := range streamRivals(memory, window) {
		run(t, r, stream{3, window}, keyOf, 20*window, limits{fpr: 2e-3, fnr: forgetting[r.name]})
	}
}

// limits are the greatest rates that a filter may show.
type limits struct{ fpr, fnr float64 }

func run[K any](t *testing.T, r rival[K], s stream, key func(uint64) K, n int, most limits) {
	t.Helper()
	to, err := r.open()
	if err != nil {
		t.Fatal(r.name, err)
	}
	defer to.Close()
	var got tally
	f := &feeder[K]{stream: s, key: key}
	f.feed(to, n, &got)
	if got.fresh+got.repeats != n {
		t.Errorf("%s: %d elements counted of %d", r.name, got.fresh+got.repeats, n)
	}
	if fpr := float64(got.wrong) / float64(got.fresh); fpr > most.fpr {
		t.Errorf("%s: %v of the first sightings taken for repeats", r.name, fpr)
	}
	if fnr := float64(got.forgotten) / float64(got.repeats); fnr > most.fnr {
		t.Errorf("%s: %v of the repeats taken for first sightings", r.name, fnr)
	}
}
