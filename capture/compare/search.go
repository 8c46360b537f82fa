// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine/calendar"
)

// probe is a packet that takes part in the search for the offset.
type probe struct {
	digest digest.Digest
	time   int64
	side   uint8
}

const (
	// mostDrift is how fast clocks drift apart, at most: 100 ppm in nanoseconds a second.
	// Cheap crystals are within 50 ppm of the right frequency.
	mostDrift = 100e-6
	// fewCross is the largest number of pairs of equal packets that are unambiguous: 4 on one
	// side and 4 on the other.
	fewCross = 16
	// mostCross bounds all pairs, also of digests that make more than fewCross.
	mostCross = 1 << 20
	// surePairs is how many pairs have to agree where more packets can be looked at.
	surePairs = 32
)

// locate finds the offset of the clocks on which most pairs of equal packets agree, of several such
// offsets the nearest to 0. It is sure if at least surePairs agree, and as many as disagree. It
// changes the order of seen.
func locate(seen []probe, window time.Duration) (l line, found, sure bool) {
	slices.SortStableFunc(seen, func(a, b probe) int {
		return cmp.Or(cmp.Compare(a.digest[0], b.digest[0]), cmp.Compare(a.digest[1], b.digest[1]), cmp.Compare(a.side, b.side), cmp.Compare(a.time, b.time))
	})
	pairs := crossPairs(seen, fewCross)
	if len(pairs) == 0 {
		pairs = crossPairs(seen, mostCross)
	}
	if len(pairs) == 0 {
		return line{}, false, false
	}
	agreeing := densest(pairs, window)
	slices.SortStableFunc(agreeing, func(a, b pair) int { return cmp.Compare(a.time, b.time) })
	l = fit(agreeing, agreeing[0].time)
	if calendar.Since(agreeing[len(agreeing)-1].time, agreeing[0].time) < longSpan || math.Abs(l.slope) > 2*mostDrift {
		l = line{origin: l.origin, offset: l.at(agreeing[len(agreeing)/2].time)}
	}
	return l, true, len(agreeing) >= surePairs && 2*len(agreeing) >= len(pairs)
}

// crossPairs returns all pairs of equal packets of both sides, whose times are no further
// apart than clocks may be, of digests that make no more than most pairs. Digests with the fewest come first, as
// mostCross may leave out others: the order of digests depends on the key. seen is ordered by digest, then
// side, then time.
func crossPairs(seen []probe, most int) (pairs []pair) {
	var all [][2][]probe // equal packets of both sides
	for len(seen) > 0 {
		n := slices.IndexFunc(seen, func(s probe) bool { return s.digest != seen[0].digest })
		if n < 0 {
			n = len(seen)
		}
		equal := seen[:n]
		seen = seen[n:]
		ofA := slices.IndexFunc(equal, func(s probe) bool { return s.side == sideB })
		if ofA > 0 && ofA*(n-ofA) <= most {
			all = append(all, [2][]probe{equal[:ofA], equal[ofA:]})
		}
	}
	sort.SliceStable(all, func(i, k int) bool {
		x, y := &all[i], &all[k]
		return cmp.Or(cmp.Compare(len(x[0])*len(x[1]), len(y[0])*len(y[1])), cmp.Compare(x[0][0].time, y[0][0].time), cmp.Compare(x[1][0].time, y[1][0].time)) < 0
	})
	for _, equal := range all {
		if len(pairs)+len(equal[0])*len(equal[1]) > mostCross {
			break
		}
		for _, a := range equal[0] {
			for _, b := range equal[1] {
				if calendar.Distance(a.time, b.time) <= mostApart {
					pairs = append(pairs, pair{a.time, b.time - a.time})
				}
			}
		}
	}
	return pairs
}

// densest returns the largest group of pairs whose deltas differ no more than a window and
// the drift of the clocks explain. It changes the order of pairs.
func densest(pairs []pair, window time.Duration) []pair {
	slices.SortFunc(pairs, func(a, b pair) int { return cmp.Compare(a.time, b.time) })
	width := uint64(window) + uint64(mostDrift*4/3*float64(spanOf(pairs)))
	slices.SortFunc(pairs, func(a, b pair) int { return cmp.Compare(a.delta, b.delta) })
	from, end := 0, 0
	for i, j := 0, 0; i < len(pairs); i++ {
		for j < len(pairs) && uint64(pairs[j].delta)-uint64(pairs[i].delta) <= width {
			j++
		}
		if j-i > end-from || j-i == end-from && calendar.Distance(pairs[i].delta, 0) < calendar.Distance(pairs[from].delta, 0) {
			from, end = i, j
		}
	}
	return slices.Clone(pairs[from:end])
}
