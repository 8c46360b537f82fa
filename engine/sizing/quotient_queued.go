// SPDX-License-Identifier: Apache-2.0

package sizing

import (
	"math"
	"math/big"
	"slices"

	"github.com/flowdedup/flowdedup/engine/theory"
)

// semisorted is the quotient hash table with semi-sorted rows: a row is the number of its
// multiset of cells, in fewer bits. So there are more rows, and the rates of a row are the same.
func semisorted(r *request, memory int) (design, error) {
	b := best{request: r}
	shapes(r, mostQuotientCells, quotientFPR, func(k, width int) {
		if _, err := fingerprintRows(math.MaxInt, k, width); err != nil {
			b.add(design{}, err)
			return
		}
		rowBits := semisortedBits(k, width)
		switch {
		case rowBits > 64:
			b.add(design{}, impossible("semi-sorted rows of %d cells of %d bits need %d bits, more than 64", k, width, rowBits))
		case memory < rowBits:
			b.add(design{}, tooSmall(memory, rowBits, "a semi-sorted row of %d cells of %d bits", k, width))
		default:
			d := randomRows(r, memory/rowBits, k, float64(int(1)<<width-1), rowBits)
			d.parameters[len(d.parameters)-1].Value = width
			b.add(d, nil)
		}
	})
	return b.result()
}

// semisortedBits returns the bits of a number below C(2^width + k - 1, k), as many as there are
// multisets of k cells.
func semisortedBits(k, width int) int {
	codes := new(big.Int).Binomial(int64(1)<<width+int64(k)-1, int64(k))
	return codes.Sub(codes, big.NewInt(1)).BitLen()
}

// qqht is the queued table without duplicates: a row holds the k latest elements that it
// reported distinct. With one cell it is qht.
func qqht(r *request, memory int) (design, error) {
	b := best{request: r}
	shapes(r, mostQuotientCells, quotientFPR, func(k, width int) {
		rows, err := fingerprintRows(memory, k, width)
		if err != nil {
			b.add(design{}, err)
			return
		}
		fpr := quotientFPR(k, width)
		missed := queuedMisses(r.load, float64(rows), k, fpr)
		if k == 1 { // the next distinct element always evicts: elements do not come at a constant rate
			missed = randomMisses(r.load, float64(rows), k, float64(int(1)<<width-1))
		}
		b.add(r.finish(design{
			parameters: []Parameter{{"rows", rows}, {"cells", k}, {"cell bits", width}},
			bits:       rows * k * width,
			fpr:        math.Min(1, fpr),
			lines:      linesOfRow(k * width),
		}, missed), nil)
	})
	return b.result()
}

// queuedMisses follows an element through its sightings. place[j], for j below k, is the
// probability that it has been pushed j places down its queue at a sighting with a next one, and
// place[k] that it is not there. Between sightings a Poisson number of other elements is reported
// distinct in its row, at a rate that depends on the misses themselves: fixed point.
func queuedMisses(l *load, rows float64, k int, fpr float64) misses {
	m, place := make(misses, len(l.between)), make([]float64, k+1)
	full := l.fullRows(rows, k)
	between := make([]pushes, len(l.between))
	for i := range between {
		between[i] = newPushes(k)
	}
	before := math.NaN()
	for range 60 {
		rate := full * (l.fresh*(1-fpr) + (1-l.fresh)*l.fnr(m)) / rows
		next := make([]float64, k+1)
		arrive(next, l.fresh, fpr)
		if rate != before {
			for i, t := range l.between {
				between[i].set(rate * t)
			}
		}
		for _, w := range l.bins {
			push := between[w.at]
			for j, p := range place {
				p *= w.share * (1 - l.fresh)
				arrive(next, p*push.least[k-j], fpr)
				for n := 0; j+n < k; n++ {
					next[j+n] += p * push.exactly[n]
				}
			}
		}
		if rate == before && slices.Equal(place, next) {
			break // nothing changes any more
		}
		place, before = next, rate
		for i := range m {
			m[i] = 0
			for j, p := range place {
				m[i] += p * between[i].least[k-j] * (1 - fpr)
			}
		}
	}
	return m
}

// arrive adds the probability of an element that is not in its row: it comes in, unless it is
// reported by the fingerprint of another, in any place. Then it is as if that were its own.
func arrive(place []float64, p, fpr float64) {
	place[0] += p * (1 - fpr)
	k := len(place) - 1
	for j := range place[:k] {
		place[j] += p * fpr / float64(k)
	}
}

// pushes holds the probabilities of the Poisson number of elements that are pushed into a queue
// in a time: of exactly n, and of at least n.
type pushes struct{ exactly, least []float64 }

// newPushes has room for queues of k places.
func newPushes(k int) pushes { return pushes{make([]float64, k), make([]float64, k+1)} }

// set computes the probabilities for a mean.
func (p pushes) set(mean float64) {
	k := len(p.exactly)
	p.exactly[0] = math.Exp(-mean)
	for n := 1; n < k; n++ {
		p.exactly[n] = p.exactly[n-1] * mean / float64(n)
	}
	p.least[k] = theory.PoissonTail(k, mean)
	for n := k - 1; n > 0; n-- { // from the smallest term up, which keeps its digits
		p.least[n] = math.Min(1, p.least[n+1]+p.exactly[n])
	}
	p.least[0] = 1
}
