package sizing

import (
	"math"

	"github.com/flowdedup/flowdedup/engine/theory"
)

// qhtd is the quotient hash table with duplicates: every element evicts a random cell.
// Its FPR is that of rows without copies, a bound; so is its FNR, as older copies of an
// element are left out.
func qhtd(r *request, memory int) (design, error) {
	return withDuplicates(r, memory, func(sightings clusters, k int) float64 {
		return sightings.anyOf(1 / float64(k))
	})
}

// qqhtd is the queued one: a row holds its k latest elements.
func qqhtd(r *request, memory int) (design, error) {
	return withDuplicates(r, memory, clusters.atLeast)
}

// clusters is the number of sightings of other elements in a row: of a Poisson number of
// different ones, each of which comes a geometric number of times.
type clusters struct {
	different float64 // mean number of different elements
	again     float64 // probability that one comes again after each time
}

// clustersIn returns those between two sightings of an element.
func (l *load) clustersIn(rows int, i int) clusters {
	c := clusters{different: l.different[i] / float64(rows)}
	if l.between[i] > 0 {
		c.again = math.Max(0, 1-l.different[i]/l.between[i])
	}
	return c
}

// anyOf returns the probability that at least one of the sightings does what each does
// with the given chance.
func (c clusters) anyOf(chance float64) float64 {
	spared := (1 - c.again) * (1 - chance) / (1 - c.again*(1-chance)) // by one element
	return -math.Expm1(-c.different * (1 - spared))
}

// atLeast returns the probability of k sightings or more, by Panjer's recursion.
func (c clusters) atLeast(k int) float64 {
	if c.again == 0 {
		return theory.PoissonTail(k, c.different)
	}
	p := []float64{math.Exp(-c.different)}
	less := p[0]
	for n := 1; n < k; n++ {
		sum, times := 0.0, (1-c.again)*c.different
		for j := 1; j <= n; j++ {
			sum += float64(j) * times * p[n-j]
			times *= c.again
		}
		p = append(p, sum/float64(n))
		less += p[n]
	}
	return math.Max(0, 1-less)
}

// withDuplicates is a table into which every element goes. evicted gives the probability
// that an element's own fingerprint has left its row of k cells; that of another one may
// still be there.
func withDuplicates(r *request, memory int, evicted func(c clusters, k int) float64) (design, error) {
	b := best{request: r}
	fpr := func(k, width int) float64 {
		rate, _, err := theory.Quotient{Rows: 1, K: k, S: max(2, 1<<width-1)}.SaturatedWithDuplicates()
		if err != nil {
			return 1
		}
		return rate
	}
	shapes(r, mostQuotientCells, fpr, func(k, width int) {
		rows, err := fingerprintRows(memory, k, width)
		if err != nil {
			b.add(design{}, err)
			return
		}
		rate := fpr(k, width)
		m := make(misses, len(r.load.between))
		for i := range m {
			m[i] = evicted(r.load.clustersIn(rows, i), k) * (1 - rate)
		}
		b.add(r.finish(design{
			parameters: []Parameter{{"rows", rows}, {"cells", k}, {"cell bits", width}},
			bits:       rows * k * width,
			fpr:        rate,
			lines:      linesOfRow(k * width),
		}, m), nil)
	})
	return b.result()
}
