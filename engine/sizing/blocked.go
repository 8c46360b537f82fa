package sizing

import (
	"math"
	"sync"

	"github.com/flowdedup/flowdedup/asm"
)

const (
	words = lineBits / 64
	// firstShare is the share of the bound on the FPR that the first sub-filter of an
	// engine.Landmark takes. It is the only one where the memory is chosen well.
	firstShare = 0.2
	// decisions is how many elements come between two decisions of it to grow.
	decisions = 512
)

// bloomLines is engine.Landmark with memory for the whole window from the start: lines
// in which an element has as many bits in each of eight words as there are rounds.
func bloomLines(r *request, memory int) (design, error) {
	lines := memory / lineBits
	if lines < 1 {
		return design{}, tooSmall(memory, lineBits, "a cache line")
	}
	rounds, most := bestRounds(firstShare * r.FPR)
	load := r.window / float64(lines)
	if loadWithSlack(rounds, load, float64(lines)) > most {
		// It would grow, and keep the bound in more memory than there is.
		return design{}, impossible("%.0f elements at a false positive rate of %g need more lines than the %d that %d bits hold",
			math.Ceil(r.window), r.FPR, lines, memory)
	}
	return r.complete(design{
		parameters: []Parameter{{"lines", lines}, {"K", words * rounds}},
		bits:       lines * lineBits, fpr: blockedFPR(rounds, load), lines: 1,
	}), nil
}

// loadWithSlack is the load at which a filter may decide to grow that holds a load: it
// allows for what comes until the next decision, all of it new bits, and its count of set
// bits may be four standard deviations above the mean.
func loadWithSlack(rounds int, load, lines float64) float64 {
	hit := 1 - math.Pow(63.0/64, float64(rounds)) // that an element sets a given bit
	bits := lines * lineBits
	density := -math.Expm1(-load*hit) + (float64(decisions*words*rounds)+2*math.Sqrt(bits))/bits
	if density >= 1 {
		return math.Inf(1)
	}
	return -math.Log1p(-density) / hit
}

// bestRounds returns the number of rounds that carries the highest load at a FPR, and that
// load.
func bestRounds(fpr float64) (rounds int, load float64) {
	for n := 1; n <= asm.MaxBitRounds; n++ {
		low, high := 0.0, float64(mostLoad/2)
		for range 50 {
			if middle := (low + high) / 2; blockedFPR(n, middle) < fpr {
				low = middle
			} else {
				high = middle
			}
		}
		if low > load {
			rounds, load = n, low
		}
	}
	return rounds, load
}

// mostLoad bounds the elements of a line that are reckoned with: at half of it on average
// all bits of a line are set, and more than it have a probability below 1e-90.
const mostLoad = 1024

// lineFPRs[n-1] lists the FPR of a line with n rounds by its number of elements.
var lineFPRs = func() (tables [asm.MaxBitRounds]func() []float64) {
	for i := range tables {
		tables[i] = sync.OnceValue(func() []float64 {
			table := make([]float64, mostLoad)
			for x := range table {
				table[x] = math.Pow(wordFPR(i+1, (i+1)*x), words)
			}
			return table
		})
	}
	return tables
}()

// blockedFPR is the FPR of lines that hold load elements on average: the mean of that of a
// line over the Poisson distribution of its elements (Putze, Sanders, Singler, Cache-, Hash-
// and Space-Efficient Bloom Filters, JEA 2009, section 3).
func blockedFPR(rounds int, load float64) float64 {
	load = math.Min(load, mostLoad/2)
	sum, probability := 0.0, math.Exp(-load)
	for x, fpr := range lineFPRs[rounds-1]() {
		sum += probability * fpr
		probability *= load / float64(x+1)
		if float64(x) > load && probability < sum*1e-16 {
			break
		}
	}
	return math.Min(1, sum)
}

// wordFPR returns the probability that all of rounds random bits of a word are set
// after a number of random settings: by inclusion and exclusion over those that are
// clear, sum over i of (-1)^i C(rounds,i) E[(1-D_i/64)^settings] with D_i the number of
// different positions among i.
func wordFPR(rounds, settings int) float64 {
	different := []float64{1} // by d: P(D_i = d)
	total, sign, choose := 0.0, 1.0, 1.0
	for i := 0; i <= rounds; i++ {
		missed := 0.0
		for d, p := range different {
			missed += p * math.Pow(1-float64(d)/64, float64(settings))
		}
		total += sign * choose * missed
		sign, choose = -sign, choose*float64(rounds-i)/float64(i+1)
		next := make([]float64, len(different)+1)
		for d, p := range different {
			next[d] += p * float64(d) / 64
			next[d+1] += p * float64(64-d) / 64
		}
		different = next
	}
	return math.Max(0, total)
}
