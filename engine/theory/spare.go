package theory

import "math"

// SpareRows is the model of rows with spare lines: lines of Cells cells, of which each Share
// have a spare line of as many cells in common. An element that finds its line full of
// elements of the last 1+Slack windows moves the last one to the spare line.
//
// New elements come to a line as a Poisson process, and a line is a queue that they leave
// after 1+Slack windows. So the number of elements that a line gives to its spare line while
// others come and leave has a distribution that follows from counting, and all lines of a
// spare line are independent. An element is lost when as many come to its spare line after it
// as that has cells.
type SpareRows struct {
	Cells int
	Share int
	Slack float64 // in windows
}

// Full returns the probability that a new element finds its line full, with so many new
// elements a line in a window. Such elements also look in the spare line.
func (s SpareRows) Full(load float64) float64 { return PoissonTail(s.Cells, load*(1+s.Slack)) }

// spareSteps is in how many parts a window is divided for numbers in between.
const spareSteps = 24

// Lost returns the probability that an element is lost after each of so many windows, from 0
// to 1, with so many new elements a line in a window. It takes some milliseconds.
func (s SpareRows) Lost(load float64) func(windows float64) float64 {
	others := make([][]float64, spareSteps+1) // [span][n]: that at least n come from other lines
	spills := newSpilled(s.Cells)
	for i := range others {
		one := spills.during(load*(1+s.Slack), load*float64(i)/spareSteps)
		others[i] = tailsOf(power(one, s.Share-1))
	}
	return func(windows float64) float64 {
		lost := 0.0
		arrivals := load * windows
		for n := s.Cells; n < s.Cells+int(8*math.Sqrt(arrivals)+arrivals)+8; n++ {
			lost += poisson(n, arrivals) * s.lostAfter(n, windows, others)
		}
		return lost
	}
}

// lostAfter is the probability of being lost if n elements came to the line, at any times,
// since: the one that is number Cells pushes the element out, and those after it push out
// others.
func (s SpareRows) lostAfter(n int, windows float64, others [][]float64) float64 {
	need := s.Cells - (n - s.Cells)
	if need <= 0 {
		return 1
	}
	// The time of that one is a Beta variable. Its complement has a sum of n tosses.
	const steps = 48
	lost, before := 0.0, 0.0
	for i := 1; i <= steps; i++ {
		at := float64(i) / steps
		until := binomialTail(n, s.Cells, at)
		rest := windows * (1 - (float64(i)-0.5)/steps)
		lost += (until - before) * between(others, rest*spareSteps, need)
		before = until
	}
	return lost
}

// between returns the probability that at least need come in a span that lies between two
// of a table.
func between(tails [][]float64, span float64, need int) float64 {
	low := min(int(span), len(tails)-2)
	part := span - float64(low)
	return tails[low][need]*(1-part) + tails[low+1][need]*part
}

// spilled knows how many elements a line gives away, for a number of elements in it, of those
// that will leave it, and of those that will come, in an order that is as likely as any.
type spilled struct {
	cells int
	memo  map[[3]int][]float64
}

func newSpilled(cells int) *spilled { return &spilled{cells, map[[3]int][]float64{}} }

// of returns the distribution of that number. The last entry stands for as many as there are
// cells, or more.
func (s *spilled) of(inside, leave, come int) []float64 {
	out := make([]float64, s.cells+1)
	if come == 0 || inside+come <= s.cells {
		out[0] = 1
		return out
	}
	key := [3]int{inside, leave, come}
	if known := s.memo[key]; known != nil {
		return known
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
	s.memo[key] = out
	return out
}

// during returns the distribution of how many elements a line with a mean number of elements
// gives away while a mean number comes. Both are Poisson variables.
func (s *spilled) during(inside, come float64) []float64 {
	out := make([]float64, s.cells+1)
	const negligible = 1e-13
	for in := range 4 * s.cells {
		for leave := range in + 1 {
			before := poisson(in-leave, max(0, inside-come)) * poisson(leave, min(inside, come))
			for n := range 4 * s.cells {
				p := before * poisson(n, come)
				if p < negligible {
					if float64(n) > come {
						break
					}
					continue
				}
				for k, q := range s.of(in, leave, n) {
					out[k] += p * q
				}
			}
		}
	}
	return out
}

// power returns the distribution of the sum of n variables. The last entry stands for all
// above, too.
func power(one []float64, n int) []float64 {
	sum := make([]float64, len(one))
	sum[0] = 1
	for range n {
		next := make([]float64, len(one))
		for i, p := range sum {
			for j, q := range one {
				next[min(i+j, len(one)-1)] += p * q
			}
		}
		sum = next
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

// poisson is the probability of n events of a mean number.
func poisson(n int, mean float64) float64 {
	if mean == 0 {
		if n == 0 {
			return 1
		}
		return 0
	}
	gamma, _ := math.Lgamma(float64(n + 1))
	return math.Exp(float64(n)*math.Log(mean) - mean - gamma)
}

// binomialTail is the probability of at least k heads in n tosses.
func binomialTail(n, k int, p float64) float64 {
	if p >= 1 {
		return 1
	}
	below := 0.0
	all, _ := math.Lgamma(float64(n + 1))
	for i := range k {
		a, _ := math.Lgamma(float64(i + 1))
		b, _ := math.Lgamma(float64(n - i + 1))
		below += math.Exp(all - a - b + float64(i)*math.Log(p) + float64(n-i)*math.Log1p(-p))
	}
	return max(0, 1-below)
}
