// SPDX-License-Identifier: Apache-2.0

package chain

// Predict returns the share of new elements that a chain takes for duplicates, and the share
// of duplicates that it takes for new. holds has slice.Stats.Holds of each of its links, and
// nil for a link that has lost its state. The equal timers heuristic, which lowers the first
// share, is left out.
//
// It is Eq. 5 to 7 of KNPS, with the coefficients that these lack, for links that are not equally
// full, and for several bits of an element in a single slice. The k bits of an element choose vertical
// slices like balls that fall into urns. So the sum over all ways to do so is a coefficient of a
// product of a polynomial for each vertical slice. It takes O(V k^3) for V vertical slices.
func (s Shape) Predict(holds [][]float64) (fpr, fnr float64) {
	parts := 1
	if s.Layout == VH {
		parts = s.H
	}
	live := 0
	found, answers := newWays(s.Hashes), newWays(s.Hashes)
	urns := len(holds) / parts
	for i := 0; i < len(holds); i += parts {
		hold, known, lost := make([]float64, s.Hashes+1), make([]float64, s.Hashes+1), make([]float64, s.Hashes+1)
		for _, here := range holds[i : i+parts] { // a single part has all bits of an element
			if here != nil {
				live++
			}
			for j := range hold {
				if here == nil {
					lost[j] += 1 / float64(parts)
					continue
				}
				known[j] += 1 / float64(parts)
				hold[j] += here[j] / float64(parts)
			}
		}
		found = found.and(hold, lost, urns)
		answers = answers.and(known, lost, urns)
	}
	if live == 0 {
		return 0, 1 // the chain begins anew
	}
	for n := range s.Hashes + 1 {
		if n >= s.AtLeast {
			fpr += found.share(n)
		} else {
			fnr += answers.share(n)
		}
	}
	return fpr, fnr
}

// ways has, for each number of an element's bits with an answer, and each number of bits
// without a slice, the number of ways in which these can lie in the slices so far, divided by the
// number of their orders.
type ways [][]float64

func newWays(k int) ways {
	w := make(ways, k+1)
	for i := range w {
		w[i] = make([]float64, k+1-i)
	}
	w[0][0] = 1
	return w
}

// and adds a slice of equally large urns to urns. With j bits in it they are known and set with the
// probability hold[j], and lost with lost[j].
func (w ways) and(hold, lost []float64, urns int) ways {
	next := newWays(len(w) - 1)
	next[0][0] = 0
	for a := range w {
		for b, n := range w[a] {
			if n == 0 {
				continue
			}
			next[a][b] += n
			weight := n
			for j := 1; a+b+j < len(w); j++ {
				weight /= float64(j * urns)
				next[a+j][b] += weight * hold[j]
				next[a][b+j] += weight * lost[j]
			}
		}
	}
	return next
}

// share returns the probability of n answers.
func (w ways) share(n int) float64 {
	k := len(w) - 1
	p := w[n][k-n]
	for i := 2; i <= k; i++ {
		p *= float64(i)
	}
	return p
}
