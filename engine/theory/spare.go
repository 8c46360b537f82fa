// SPDX-License-Identifier: Apache-2.0

package theory

import (
	"math"
	"slices"
	"sync"
)

// SpareRows is the model of rows with spare lines: lines of Cells cells. Each Share of them
// have a spare line of as many cells in common. An element that finds its line full of
// elements of the last 1+Slack windows moves the last element to the spare line. A full spare
// line evicts its oldest element if OldestFirst is set, else the element that came to it
// first.
//
// New elements come to a line as a Poisson process, and the lines of a spare line are
// independent.
type SpareRows struct {
	Cells       int
	Share       int
	Slack       float64 // in windows
	OldestFirst bool
}

// Full returns the probability that a new element finds its line full, at a load of new
// elements a line in a window. Such elements also look in the spare line.
func (s SpareRows) Full(load float64) float64 { return PoissonTail(s.Cells, load*(1+s.Slack)) }

const (
	spareSpans = 24 // parts of a window for which the spilled elements of lines are known
	spareAges  = 32 // parts of a window for which losses are known
	agesBeyond = 4  // such parts behind the window
	betaSteps  = 48 // parts of a time between 0 and an age
	// sureLoss is the load, in multiples of Cells new elements a line in a window, at which
	// the oldest element is almost surely lost.
	sureLoss = 2
)

// Lost returns the probability that an element is lost within a number of windows, from 0 to
// 9/8, at a load of new elements a line in a window. It takes some milliseconds.
func (s SpareRows) Lost(load float64) func(windows float64) float64 {
	if load > float64(sureLoss*s.Cells) {
		return s.lostAtOnce(load)
	}
	ages := s.firstLost
	if s.OldestFirst {
		ages = s.oldestLost
	}
	lost := ages(load)
	return func(windows float64) float64 { return interpolated(lost[:], windows*spareAges) }
}

// lossByAge is the probability of being lost at each part of a window.
type lossByAge [spareAges + agesBeyond + 1]float64

// oldestLost is Lost if the oldest is lost first: Cells younger elements in the spare line
// push an element out of it. If there are Cells-1, an older element that comes does so, too.
func (s SpareRows) oldestLost(load float64) (lost lossByAge) {
	var alone, all, gone float64 // gone: loss among elements with Cells-1 younger elements
	for i := 1; i < len(lost); i++ {
		age := float64(i) / spareAges
		nowAlone, nowAll := s.younger(load * age)
		older := float64(s.Share-1) * load * max(0, s.Full(load)-PoissonTail(s.Cells, load*(age-0.5/spareAges)))
		if alone > 0 {
			gone *= alone / (alone + nowAll - all) // the remaining elements now belong to all
			gone += -math.Expm1(-older/spareAges) * max(0, logMean(alone, nowAlone)-gone)
		}
		alone, all = nowAlone, nowAll
		lost[i] = min(1, all+min(gone, alone))
	}
	return lost
}

// younger returns the probabilities that an element is out of its line, and that Cells-1,
// or Cells and more, of the later elements are out, too. came is the mean number of later
// elements in a line.
func (s SpareRows) younger(came float64) (oneLess, all float64) {
	out := make([]float64, s.Cells+1)
	for n := range out {
		out[n] = events(s.Cells+n, came)
	}
	out[s.Cells] = PoissonTail(2*s.Cells, came)
	own := slices.Clone(out)
	out[0] = 1 - PoissonTail(s.Cells+1, came)
	sum := sumOf(own, power(out, s.Share-1))
	return sum[s.Cells-1], sum[s.Cells]
}

// logMean returns the mean of a value that changes from a to b exponentially.
func logMean(a, b float64) float64 {
	if a == b || a <= 0 || b <= 0 {
		return (a + b) / 2
	}
	return (b - a) / math.Log(b/a)
}

// firstLost is Lost if elements leave the spare line in the order of their arrival.
//
// Each element leaves its line after 1+Slack windows. So the number of elements that a
// line gives to its spare line in a span follows from counting: all orders of the
// arrivals and departures in the span are equally likely. An element is lost when as many
// elements come to its spare line after it as that has cells.
func (s SpareRows) firstLost(load float64) (lost lossByAge) {
	spills := spilledOf(s.Cells)
	var others [spareSpans + 2][]float64 // [span][n]: that at least n come from other lines
	for i := range others {
		one := spills.during(load*(1+s.Slack), load*float64(i)/spareSpans)
		others[i] = tailsOf(power(one, s.Share-1))
	}
	for i := range lost {
		windows := float64(i) / spareAges
		arrivals := load * windows
		for n := s.Cells; n < min(spills.size, int(8*math.Sqrt(arrivals)+arrivals)+s.Cells+8); n++ {
			lost[i] += events(n, arrivals) * s.lostAfter(n, windows, spills, others[:])
		}
	}
	return lost
}

// lostAtOnce is Lost for lines that are full so soon that their differences do not matter.
// Then lines and their spare lines are queues, which elements leave in order.
func (s SpareRows) lostAtOnce(load float64) func(windows float64) float64 {
	room := float64(s.Cells) * (1 + 1/float64(s.Share))
	return func(windows float64) float64 { return PoissonTail(int(room), load*windows) }
}

// lostAfter is the probability of being lost if n elements came to the line, at any
// times, since: element number Cells pushes the element out, and later ones push out
// others.
func (s SpareRows) lostAfter(n int, windows float64, spills *spilled, others [][]float64) (lost float64) {
	need := s.Cells - (n - s.Cells)
	if need <= 0 {
		return 1
	}
	for i, p := range spills.pushes[n] {
		rest := windows * (1 - (float64(i)+0.5)/betaSteps)
		span := min(rest*spareSpans, spareSpans+1)
		low := min(int(span), spareSpans)
		part := span - float64(low)
		lost += p * (others[low][need]*(1-part) + others[low+1][need]*part)
	}
	return lost
}

// interpolated returns the logarithmic interpolation between two values.
func interpolated(values []float64, at float64) float64 {
	low := min(max(int(at), 0), len(values)-2)
	part := min(max(at-float64(low), 0), 1)
	a, b := values[low], values[low+1]
	if a <= 0 || b <= 0 {
		return a*(1-part) + b*part
	}
	return math.Exp(math.Log(a)*(1-part) + math.Log(b)*part)
}

// spilled has the distribution of the number of elements that a line spills, given the
// elements in it, the elements that will leave it, and the elements that will come, if
// all orders are equally likely.
type spilled struct {
	cells, size int
	mutex       sync.Mutex
	known       [][]float64
	// pushes has the distribution, by parts of the time, of the arrival of element number
	// cells of n.
	pushes [][betaSteps]float64
}

var allSpilled sync.Map // of *spilled by the number of cells

// spilledOf returns the spilled for the given number of cells, which all callers share.
func spilledOf(cells int) *spilled {
	if known, ok := allSpilled.Load(cells); ok {
		return known.(*spilled)
	}
	known, _ := allSpilled.LoadOrStore(cells, newSpilled(cells))
	return known.(*spilled)
}

func newSpilled(cells int) *spilled {
	size := (sureLoss + 2) * cells
	s := &spilled{cells: cells, size: size, known: make([][]float64, 2*size*size*size), pushes: make([][betaSteps]float64, size)}
	for n := cells; n < size; n++ {
		before := 0.0
		for i := range betaSteps {
			until := atLeast(cells, n, float64(i+1)/betaSteps)
			s.pushes[n][i], before = until-before, until
		}
	}
	return s
}

// of returns the distribution of this number. The last entry stands for as many as there
// are cells, or more.
func (s *spilled) of(inside, leave, come int) []float64 {
	known := &s.known[(inside*s.size+leave)*s.size+come]
	if *known != nil {
		return *known
	}
	out := make([]float64, s.cells+1)
	*known = out
	if come == 0 || inside+come <= s.cells {
		out[0] = 1
		return out
	}
	next := float64(come) / float64(come+leave)
	spill := 0
	if inside >= s.cells {
		spill = 1
	}
	for k, p := range s.of(inside+1, leave, come-1) {
		out[min(k+spill, s.cells)] += next * p
	}
	if leave > 0 {
		for k, p := range s.of(inside-1, leave-1, come) {
			out[k] += (1 - next) * p
		}
	}
	return out
}

// during returns the distribution of the number of elements that a line spills, given the
// mean number of elements in it and of elements that come. Both are Poisson variables.
func (s *spilled) during(inside, come float64) []float64 {
	const negligible = 1e-11
	s.mutex.Lock()
	defer s.mutex.Unlock()
	out := make([]float64, s.cells+1)
	stay, leave, arrive := s.events(max(0, inside-come)), s.events(min(inside, come)), s.events(come)
	for staying, p := range stay {
		for leaving, q := range leave {
			if p*q < negligible || staying+leaving >= s.size {
				continue
			}
			for coming, r := range arrive {
				if r *= p * q; r < negligible {
					continue
				}
				for k, share := range s.of(staying+leaving, leaving, coming) {
					out[k] += r * share
				}
			}
		}
	}
	return out
}

// events returns the probabilities of the numbers of events of a mean number.
func (s *spilled) events(mean float64) []float64 {
	p := make([]float64, s.size)
	for n := range p {
		p[n] = events(n, mean)
	}
	return p
}

// power returns the distribution of the sum of n variables, as sumOf does.
func power(one []float64, n int) []float64 {
	sum := make([]float64, len(one))
	sum[0] = 1
	for range n {
		sum = sumOf(sum, one)
	}
	return sum
}

// sumOf returns the distribution of the sum of two variables. The last entry stands for all
// above, too.
func sumOf(a, b []float64) []float64 {
	sum := make([]float64, len(a))
	for i, p := range a {
		for j, q := range b {
			sum[min(i+j, len(sum)-1)] += p * q
		}
	}
	return sum
}

// tailsOf returns the probability of at least n, for each n.
func tailsOf(p []float64) []float64 {
	tails := make([]float64, len(p))
	sum := 0.0
	for n := len(p) - 1; n >= 0; n-- {
		sum += p[n]
		tails[n] = sum
	}
	return tails
}

// events is the probability of n events of a mean number, which may be 0.
func events(n int, mean float64) float64 {
	switch {
	case mean > 0:
		return Poisson(float64(n), mean)
	case n == 0:
		return 1
	}
	return 0
}

// atLeast is the probability of at least k heads in n tosses.
func atLeast(k, n int, chance float64) (p float64) {
	tail := newBinomialTail(float64(n), chance)
	for range k {
		p = tail.next()
	}
	return p
}
