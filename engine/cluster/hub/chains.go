// SPDX-License-Identifier: Apache-2.0

package hub

import (
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

// describeChains describes the chains of a filter. Slices of elsewhere that are not among
// owned count as live, and as full as the others are on average.
func describeChains(s *Settings, owned []slicePart, elsewhere []int) *ChainStatus {
	shape := s.Shape
	st := &ChainStatus{Shape: shape, Fairness: 1}
	st.Shape.WindowUS = 0 // Status.Window has it
	holds := make([][][]float64, shape.Chains())
	for c := range holds {
		holds[c] = make([][]float64, shape.Links())
	}
	mean, live, described := make([]float64, shape.Hashes+1), 0.0, make([]bool, shape.Slices())
	digests, hops, bytes := 0.0, 0.0, 0.0
	var tests []int
	for _, one := range owned {
		c, link := shape.Place(one.Slice)
		if !one.Stats.Lost {
			holds[c][link] = one.Stats.Holds
			live++
			for j, p := range one.Stats.Holds {
				mean[j] += (p - mean[j]) / live
			}
		}
		described[one.Slice] = true
		tests = append(tests, int(one.Stats.Tests))
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
	for _, number := range elsewhere {
		if c, link := shape.Place(number); !described[number] {
			holds[c][link] = mean
		}
	}
	for c := range holds {
		for _, one := range holds[c] {
			if one == nil {
				st.Lost++
			}
		}
		fpr, fnr := shape.Predict(holds[c])
		st.FPR += fpr / float64(len(holds))
		st.FNR += fnr / float64(len(holds))
	}
	return st
}
