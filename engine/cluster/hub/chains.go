// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"math"

	"github.com/flowdedup/flowdedup/engine/cluster/chain"
	"github.com/flowdedup/flowdedup/engine/theory"
)

// ChainStatus describes a filter that is not rows.
type ChainStatus struct {
	Shape chain.Shape `json:"shape"`
	Lost  int         `json:"slices_lost"` // slices that do not answer, or have no hub
	// FPR and FNR are the predicted shares of new packets that count as copies, and of copies
	// that pass, with the slices that are lost at present. The equal timers heuristic, which
	// lowers the first, is left out.
	FPR float64 `json:"predicted_fpr"`
	FNR float64 `json:"predicted_fnr"`
	// Hops are messages from slice to slice for each digest, and HopBits their length.
	Hops    float64 `json:"hops_per_digest"`
	HopBits float64 `json:"hop_bits_per_digest"`
	// Fairness is Jain's index of the tests of slices: 1 if all have as many.
	Fairness float64 `json:"fairness"`
}

// describeChains describes the chains of a filter.
func describeChains(s *Settings, owned []slicePart) *ChainStatus {
	shape := s.Shape
	st := &ChainStatus{Shape: shape, Fairness: 1}
	st.Shape.WindowUS = 0 // Status.Window has it
	live, fill := make([]int, shape.Chains()), make([]float64, shape.Chains())
	digests, hops, bytes := 0.0, 0.0, 0.0
	tests := make([]int, shape.Slices())
	for _, one := range owned {
		c, link := shape.Place(one.Slice)
		if !one.Stats.Lost {
			live[c]++
			fill[c] += one.Stats.Fill
		}
		tests[one.Slice] = int(one.Stats.Tests)
		hops += float64(one.Stats.Hops)
		bytes += float64(one.Stats.HopBytes)
		for _, site := range one.Stats.Sites {
			if link == 0 {
				digests += float64(site.Digests)
			}
		}
	}
	if fairness, err := theory.Fairness(tests); err == nil { // on error there was nothing to test
		st.Fairness = fairness
	}
	if digests > 0 {
		st.Hops, st.HopBits = hops/digests, 8*bytes/digests
	}
	for c := range live {
		st.Lost += shape.Links() - live[c]
		fpr, fnr := predict(shape, live[c], fill[c]/float64(max(1, live[c])))
		st.FPR += fpr / float64(len(live))
		st.FNR += fnr / float64(len(live))
	}
	return st
}

// predict returns the rates of a chain with the given number of live links and the given
// fill.
func predict(s chain.Shape, live int, fill float64) (fpr, fnr float64) {
	if live == 0 {
		return 0, 1 // it passes all
	}
	bits := max(s.Size(), s.Links()) // the rates depend only on the fill
	form := theory.Sliced{Bits: bits, K: s.Hashes, Slices: s.Links()}
	fpr, fnr, err := form.SplitHybrid(s.Hashes, s.Links()-live, math.Pow(fill, float64(s.Hashes)), s.AtLeast)
	if err != nil {
		panic("hub: " + err.Error()) // only for shapes that Shape.Check refuses
	}
	return fpr, fnr
}
