package clicks

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
	"github.com/flowdedup/flowdedup/bench/papers/internal/stream"
	"github.com/flowdedup/flowdedup/engine/paper"
	"github.com/flowdedup/flowdedup/engine/theory"
)

// substrings compares the scheme of section 4, whose analysis the paper calls intractable,
// with as many independent hash functions in the same memory: the paper's example of IDs
// of 32 bits and vectors for substrings of 16.
func substrings(ctx context.Context, o result.Options) (result.Table, error) {
	const idBits, length, vectors = 32, 16, 17
	windows := []int{1 << 14, 1 << 15, 1 << 16, 1 << 17}
	total := 1 << 20
	if o.Full {
		total = 1 << 24
	}
	rows := make([]result.Row, len(windows))
	err := result.Parallel(ctx, len(windows), o.Workers, func(i int) error {
		n := windows[i]
		var overlapping, independent count
		for run := range total / n {
			s, err := paper.NewSubstrings(idBits, length)
			if err != nil {
				return err
			}
			b, err := paper.NewLandmarkBloom(paper.LandmarkConfig{Bits: vectors << length, D: vectors, Window: n, Partitioned: true})
			if err != nil {
				return err
			}
			for j := range n {
				if j%(1<<14) == 0 && ctx.Err() != nil {
					return ctx.Err()
				}
				id := scatter(uint32(run*n + j))
				overlapping.addOne(s.TestAndSet(digest.Digest{uint64(id), 0}))
				independent.addOne(b.TestAndSet(stream.Digest(uint64(id))))
			}
		}
		closed, err := theory.LandmarkRate(vectors<<length, vectors, n)
		rows[i] = result.Row{Name: fmt.Sprint(n), Cells: []result.Cell{
			percent(overlapping), result.Measured(100*chainRate(n, length, vectors), "%"), percent(independent), result.Measured(100*closed, "%"),
			result.Measured(overlapping.rate()/closed, ""),
		}}
		return err
	})
	return result.Table{
		Title: "Overlapping substrings and independent hash functions in equal memory",
		Setting: fmt.Sprintf("Different IDs of %d bits at random, as many as are named, from an empty filter on; %d in all. %d vectors of 2^%d bits, one for each substring, or one for each function.",
			idBits, total, vectors, length),
		Corner:  "window",
		Columns: []string{"substrings", "a chain of collisions", "functions", "functions, closed form", "substrings / functions"},
		Rows:    rows,
		Notes: []string{"The paper prefers independent functions, as neighboring substrings collide together, and gives no rate of either. Its remark is right that a collision makes the next one far more likely: with probability 1/2 the other element " +
			"agrees in the next bit, too. A chain in which each collision depends on the one before alone has half to three quarters of the rates measured.",
			"Functions by double hashing, as here, collide in all vectors for one in 2^32 pairs of IDs, which are all errors of the two short windows."},
	}, err
}

// scatter is a bijection of 32 bits: the finalizer of MurmurHash3.
func scatter(x uint32) uint32 {
	x = (x ^ x>>16) * 0x85ebca6b
	x = (x ^ x>>13) * 0xc2b2ae35
	return x ^ x>>16
}

// chainRate returns the mean rate while n elements fill vectors of 2^length bits, where a
// collision depends on that in the substring before, and on no other.
//
// Of the elements that agree in the bits that two neighboring substrings share, as many
// have the first substring's other bit as do not: each a Poisson number of mean x, which is
// n/2^length. The first collides if there is one of the former, the second if one of all
// has its other bit.
func chainRate(n, length, vectors int) float64 {
	const steps = 1000
	sum := 0.0
	for i := range steps {
		x := float64(n) * (float64(i) + 0.5) / steps / math.Exp2(float64(length))
		first := -math.Expm1(-x)
		next := 1 - (math.Exp(-x/2)-math.Exp(-x))/first*math.Exp(-x/2)
		sum += first * math.Pow(next, float64(vectors-1))
	}
	return sum / steps
}

// functions finds the number of hash functions that is best for the mean over a window,
// which is above the best for a full filter.
func functions(ctx context.Context, o result.Options) (result.Table, error) {
	perElement := []float64{4, 8, 9.6, 12, 16, 24, 32}
	s := landmarkSetup{window: 50_000, errors: 2000, mostRuns: 60}
	if o.Full {
		s.window = 1_000_000
	}
	rows := make([]result.Row, len(perElement))
	err := result.Parallel(ctx, len(perElement), o.Workers, func(i int) error {
		m := int(perElement[i] * float64(s.window))
		full, err := theory.BloomOptimalK(m, s.window)
		if err != nil {
			return err
		}
		rows[i].Name = fmt.Sprint(perElement[i])
		mean, means, err := bestFunctions(full, func(d int) (float64, error) { return theory.LandmarkRate(m, d, s.window) })
		if err != nil {
			return err
		}
		jumping, steady, err := bestFunctions(full, func(d int) (float64, error) {
			return theory.Jumping{Cells: m, D: d, SubWindows: 4, SubWindow: s.window / 4}.SteadyRate()
		})
		if err != nil {
			return err
		}
		rows[i].Cells = append(rows[i].Cells, result.Measured(float64(full), ""), result.Measured(float64(mean), ""),
			result.Measured(100*means[0], "%"), result.Measured(100*means[1], "%"))
		for _, d := range []int{full, mean} {
			c, err := s.measureBits(ctx, m, d, true)
			if err != nil {
				return err
			}
			rows[i].Cells = append(rows[i].Cells, percent(c))
		}
		rows[i].Cells = append(rows[i].Cells, result.Measured(float64(jumping), ""), result.Measured(100*steady[0], "%"), result.Measured(100*steady[1], "%"))
		return nil
	})
	return result.Table{
		Title: "The number of hash functions that is best for a window",
		Setting: fmt.Sprintf("%d distinct clicks in a landmark window; a jumping window of 4 sub-windows in its steady state. Rates are closed forms, or measured where %.0f errors take %d windows at most.",
			s.window, s.errors, s.mostRuns),
		Corner: "bits for each click",
		Columns: []string{"d, full filter", "d, landmark", "rate, d of full", "rate, d of landmark", "measured, d of full", "measured, d of landmark",
			"d, jumping", "jumping rate, d of full", "jumping rate, d of jumping"},
		Rows: rows,
		Notes: []string{"Section 5.1 takes d = ln(2) M/N, the best for a filter that holds N clicks. In a landmark window the filter is less full for most of the time, and more functions are better: " +
			"one or two more functions are better: the mean rate is then 1 to 6 % lower. In the steady state of a jumping window, at least three quarters full, the two are nearly the same."},
	}, err
}

// bestFunctions returns the number of hash functions with the lowest rate, and the rates
// with those of a full filter and with it.
func bestFunctions(full int, rate func(d int) (float64, error)) (best int, rates [2]float64, err error) {
	for d := 1; d <= 3*full+3; d++ {
		r, err := rate(d)
		if err != nil {
			return 0, rates, err
		}
		if d == full {
			rates[0] = r
		}
		if best == 0 || r < rates[1] {
			best, rates[1] = d, r
		}
	}
	return best, rates, nil
}

// latency compares one hash space with a space for each function by the time that a click
// waits for memory modules: section 5.2.1.
func latency(context.Context, result.Options) (result.Table, error) {
	out := result.Table{
		Title: "Memory latency of a click, by the number of modules",
		Setting: "In units of the idle time tau between two accesses to a module, for d accesses to D modules. With a hash space for each function the modules take turns: ceil(d/D), as printed. " +
			"With one space the accesses are spread at random: the mean of the largest number that one module has.",
		Corner: "modules D",
		Notes: []string{"The paper gives one hash space from ceil(d tau/D) to d tau. What is to be expected lies near the lower end, at one and a half to three times that for D of the order of d. " +
			"A cache line for all bits of an element, which this project's filters have, needs one access."},
	}
	ds := []int{2, 4, 8, 16}
	for _, d := range ds {
		out.Columns = append(out.Columns, fmt.Sprintf("d=%d, a space each", d), "one space, mean", "one space, at most")
	}
	for _, modules := range []int{1, 2, 4, 8, 16, 32} {
		row := result.Row{Name: fmt.Sprint(modules)}
		for _, d := range ds {
			for _, v := range []float64{math.Ceil(float64(d) / float64(modules)), meanLargest(d, modules), float64(d)} {
				row.Cells = append(row.Cells, result.Measured(v, ""))
			}
		}
		out.Rows = append(out.Rows, row)
	}
	return out, nil
}

// meanLargest returns the mean of the largest number of d balls in one of n boxes: the sum
// over c of 1 - P(at most c in each), where P is d!/n^d times the coefficient of x^d in
// (1 + x + ... + x^c/c!)^n.
func meanLargest(d, n int) float64 {
	mean := 0.0
	for c := range d {
		power := make([]float64, d+1)
		power[0] = 1
		for range n {
			next := make([]float64, d+1)
			for i, p := range power {
				term := 1.0 // x^j/j! of j balls, each with chance 1/n
				for j := 0; j <= c && i+j <= d; j++ {
					next[i+j] += p * term
					term /= float64(n) * float64(j+1)
				}
			}
			power = next
		}
		factorial, _ := math.Lgamma(float64(d) + 1)
		mean += 1 - power[d]*math.Exp(factorial)
	}
	return mean
}

// slidingSetup says how large the sliding window is.
type slidingSetup struct {
	window   int // clicks
	measured int // clicks after the first window
}

func newSlidingSetup(o result.Options) slidingSetup {
	if o.Full {
		return slidingSetup{window: 1_000_000, measured: 10_000_000}
	}
	return slidingSetup{window: 100_000, measured: 1_000_000}
}

const (
	// differing is the expected share of different clicks in a window, and
	// drawsPerID the x for which (1-e^-x)/x, the share that x uniform draws for each
	// ID have, is that.
	differing  = 0.8
	drawsPerID = 0.464213
	// queueBits is the memory of an entry of the queue.
	queueBits = 32
)

// slidingFunctions are the numbers of hash functions. Each gets the memory for which it
// is best.
var slidingFunctions = []int{2, 4, 8}

func (s slidingSetup) config(d int) paper.SlidingConfig {
	return paper.SlidingConfig{
		Counters:    int(math.Round(float64(d) * differing * perFunction(s.window))),
		CounterBits: 4, D: d, Window: s.window, ElementBits: queueBits,
	}
}

func sliding(ctx context.Context, s slidingSetup, workers int) (result.Table, error) {
	t := result.Table{
		Name:  "p2.sliding",
		Title: "Sliding window: counting Bloom filter with a circular queue",
		Setting: fmt.Sprintf("The last %d clicks, with %d uniform draws from so many IDs that %.0f %% of a window differ; "+
			"counters of 4 bits, half of them zero, and %d bits for each entry of the queue. "+
			"Duplicates are clicks whose ID is among the last %d.",
			s.window, s.window+s.measured, 100*differing, queueBits, s.window),
		Corner:  "d",
		Columns: []string{"bits for each click of the window", "error rate", "closed form", "duplicates missed", "share of full counters"},
		Rows:    make([]result.Row, len(slidingFunctions)),
		Notes: []string{
			"The paper describes this window but does not measure it, for want of exact answers at every position of the window; a table of the last position of each ID gives them.",
			"The queue holds clicks, of 512 bits in the paper; 32 bits are for comparison with other methods.",
			"A full counter stays full for ever, so that no duplicate is missed; the last column is what became of all since the start.",
			"Independent simulation at the same memory, of a stream with 1.5 % more different clicks in a window: error rate 25.6 % at 41 bits, 6.5 % at 50.5, 0.43 % at 68.9; no duplicate missed.",
		},
	}
	err := result.Parallel(ctx, len(slidingFunctions), workers, func(i int) (err error) {
		t.Rows[i], err = s.row(ctx, slidingFunctions[i])
		return err
	})
	return t, err
}

func (s slidingSetup) row(ctx context.Context, d int) (result.Row, error) {
	c := s.config(d)
	closed, err := theory.BloomFPRApprox(c.Counters, d, int(math.Round(differing*float64(s.window))))
	if err != nil {
		return result.Row{}, err
	}
	f, err := paper.NewSlidingBloom(c)
	if err != nil {
		return result.Row{}, err
	}
	score, err := s.measure(ctx, f)
	return result.Row{Name: fmt.Sprint(d), Cells: []result.Cell{
		result.Measured(float64(f.Bits())/float64(s.window), ""),
		result.Measured(100*score.FPR(), "%"), result.Measured(100*closed, "%"),
		result.Measured(100*score.FNR(), "%"), result.Measured(f.SaturatedShare(), ""),
	}}, err
}

// measure compares with the exact window, once that is full.
func (s slidingSetup) measure(ctx context.Context, f paper.Filter) (stream.Score, error) {
	ids := uint64(math.Round(float64(s.window) / drawsPerID))
	random := rand.New(rand.NewPCG(1, 2))
	last := make([]int, ids) // position of the latest click, from 1 on
	var score stream.Score
	for at := 1; at <= s.window+s.measured; at++ {
		if at%(1<<16) == 0 && ctx.Err() != nil {
			return score, ctx.Err()
		}
		id := random.Uint64N(ids)
		known := last[id] > 0 && at-last[id] <= s.window
		last[id] = at
		if seen := f.TestAndSet(stream.Digest(id)); at > s.window {
			score.Add(known, seen)
		}
	}
	return score, nil
}
