// SPDX-License-Identifier: Apache-2.0

package stable

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/flowdedup/flowdedup/bench/papers/internal/forms"
	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
	"github.com/flowdedup/flowdedup/bench/papers/internal/stream"
	"github.com/flowdedup/flowdedup/engine/paper"
	"github.com/flowdedup/flowdedup/engine/theory"
)

// The memory and the gap of Figure 1: misses are neither rare nor certain there.
const (
	figureBits = 100_000
	figure1Gap = 4_000
)

// weight is a pair of f/N, the share of the stream that the element makes up, and phi, the
// excess of the settings of its cells by others (Eq. 18).
type weight struct{ share, phi float64 }

func (w weight) String() string {
	if w.phi > 0 {
		return fmt.Sprintf("Eq. 19, phi = %g", w.phi)
	}
	return fmt.Sprintf("Eq. 19, f/N = %g", w.share)
}

// weights are the weights of Eq. 19 that are shown: the paper's test value, and larger
// ones.
var weights = []weight{{1e-5, 0}, {1e-4, 0}, {1e-3, 0}, {0, 0.001}, {0, 0.01}, {0, 0.1}}

// figure1 is the miss rate by K, by the closed form and measured.
func figure1(o result.Options, t *result.Table) {
	settings := []setting{{1, 1, 0.2}, {1, 1, 0.1}, {1, 1, 0.01}, {3, 2, 0.1}, {3, 2, 0.01}, {15, 4, 0.01}}
	n := o.Size(200_000, 5_000_000)
	t.Say(figureBits, figure1Gap, n)
	var all []series
	for _, s := range settings {
		all = append(all, series{s.String() + ", closed form", true, func(k float64) float64 {
			return result.Must(s.model(figureBits, int(k)).FNR(figure1Gap))
		}}, series{s.String() + ", measured", false, func(k float64) float64 {
			return missRate(s.model(figureBits, int(k)), figure1Gap, n)
		}})
	}
	for _, w := range weights {
		all = append(all, series{w.String(), true, func(k float64) float64 {
			model := setting{1, 1, 0.1}.model(figureBits, int(k))
			return result.Must(model.FNRAt(figure1Gap, model.SetRate(w.share, w.phi)))
		}})
	}
	figure(o, t, "K=%d", []float64{1, 2, 3, 4, 5, 6, 7, 8}, all)
}

// figure2 is the miss rate with Max = 3 less the rate with Max = 1, by the gap.
func figure2(o result.Options, t *result.Table) {
	bounds := []float64{0.2, 0.1, 0.01, 0.001}
	n := o.Size(100_000, 2_000_000)
	t.Say(figureBits, n)
	var all []series
	for _, fps := range bounds {
		all = append(all, series{fmt.Sprintf("FPS %g %%, closed form", 100*fps), true, func(gap float64) float64 {
			return compareMax(fps, func(s theory.Stable) float64 { return result.Must(s.FNR(int(gap))) })
		}}, series{fmt.Sprintf("FPS %g %%, measured", 100*fps), false, func(gap float64) float64 {
			return compareMax(fps, func(s theory.Stable) float64 { return missRate(s, int(gap), n+2*int(gap)) })
		}})
	}
	for _, phi := range []float64{0.001, 0.01, 0.1} {
		all = append(all, series{fmt.Sprintf("FPS 10 %%, Eq. 19, phi = %g", phi), true, func(gap float64) float64 {
			return compareMax(0.1, func(s theory.Stable) float64 { return result.Must(s.FNRAt(int(gap), s.SetRate(0, phi))) })
		}})
	}
	figure(o, t, "gap %d", []float64{100, 300, 1000, 3000, 10_000, 30_000, 100_000}, all)
}

// compareMax returns a rate of the filter with Max = 3 less the rate with Max = 1.
func compareMax(fps float64, rate func(theory.Stable) float64) float64 {
	best := func(top, d int) theory.Stable {
		return result.Must(forms.StableBestK(figureBits/d, top, fps, figureBits/25))
	}
	return rate(best(3, 2)) - rate(best(1, 1))
}

// recommendation is section 4.1's printed recommendation for a setting.
type recommendation struct {
	setting
	fewest, most int     // K
	p            float64 // NaN if none is printed
}

func recommendations() []recommendation {
	none := math.NaN()
	return []recommendation{
		{setting{1, 1, 0.2}, 1, 2, none},
		{setting{1, 1, 0.1}, 2, 2, 4},
		{setting{1, 1, 0.01}, 3, 3, 10},
		{setting{3, 2, 0.1}, 2, 3, none},
		{setting{3, 2, 0.01}, 4, 5, none},
		{setting{15, 4, 0.01}, 6, 6, 141},
	}
}

// missLevels are the shares of misses at which the best K is sought.
var missLevels = []float64{0.01, 0.1, 0.4, 0.8}

// parameters finds the best K and P for the settings of section 4.1, at gaps at which few
// to most are missed.
func parameters(_ result.Options, t *result.Table) {
	const cells = 1_000_000
	for _, r := range recommendations() {
		row := result.Row{Name: r.String()}
		for _, level := range missLevels {
			row.Cells = append(row.Cells, r.bestK(cells, level)...)
		}
		exact := forms.StablePExact(cells, r.most, r.top, r.fps)
		down := math.Floor(exact)
		fps := result.Must(theory.Stable{Cells: cells, K: r.most, P: int(down), Max: r.top}.FPS())
		row.Cells = append(row.Cells, result.Measured(exact, ""), result.Compared(down, r.p, ""), result.Measured(100*fps, "%"))
		t.Rows = append(t.Rows, row)
	}
}

// bestK returns the best K next to the nearest printed one, and how much more that
// misses, at the shortest gap at which the best misses a share of level.
func (r recommendation) bestK(cells int, level float64) []result.Cell {
	var best theory.Stable
	low, high := 1, 100*cells
	for low < high {
		gap := (low + high) / 2
		b, err := forms.StableBestK(cells, r.top, r.fps, max(gap, r.top))
		if err != nil || result.Must(b.FNR(gap)) < level { // too short to miss any, or the share of level
			low = gap + 1
			continue
		}
		high, best = gap, b
	}
	printed := r.model(cells*r.d, min(max(best.K, r.fewest), r.most))
	more := result.Must(printed.FNR(high))/result.Must(best.FNR(high)) - 1
	return []result.Cell{result.Compared(float64(best.K), float64(printed.K), ""), result.Measured(100*more, "%")}
}

// gapTraces are streams whose gaps favor large and small cells.
func gapTraces(n int, seed uint64) []trace {
	return []trace{lagTrace(n, 1, 300, seed), lagTrace(n, 2000, 20_000, seed), lagTrace(n, 1, 20_000, seed), crawl(n, seed)}
}

// gapsOf returns a stream's gap distribution. It merges gaps that differ by less than a
// tenth.
func gapsOf(t trace) []forms.Gap {
	last := map[uint32]int{}
	var weights [400]float64
	for i, element := range t {
		if before, known := last[element]; known {
			weights[int(10*math.Log(float64(i-before)))]++
		}
		last[element] = i
	}
	var gaps []forms.Gap
	for i, weight := range weights {
		if weight > 0 {
			gaps = append(gaps, forms.Gap{Elements: int(math.Exp((float64(i)+0.5)/10)) - 1, Weight: weight})
		}
	}
	return gaps
}

// bestMax chooses Max by the distribution of gaps, as "The setting of Max" has it, and
// measures the choices on another stream of the same kind.
func bestMax(o result.Options, t *result.Table) {
	const bits, fps = 20_000, 0.05
	n := o.Size(200_000, 5_000_000)
	t.Say(bits, 100*fps, n)
	names := []string{"gaps 1 to 300", "gaps 2000 to 20,000", "gaps 1 to 20,000", "crawl, 10M"}
	traces, others := gapTraces(n, streamSeed), gapTraces(n, streamSeed+1)
	t.Rows = result.Map(o, []int{0, 1, 2, 3}, func(i int) result.Row {
		gaps := gapsOf(traces[i])
		best := forms.StableBestMax(bits, 3, fps, gaps)
		row := result.MeasuredRow(names[i], "", float64(best.Max))
		for _, c := range forms.StableByCellBits(bits, 3, fps, gaps) {
			score := others[i].rates(config(c.Stable), 0)
			row = row.And("", float64(c.K), float64(c.P)).And("%", 100*c.FNR, 100*score.FNR(), 100*score.FPR())
		}
		return row
	})
}

// frequency measures the misses of elements that make up a share f/N of the stream each,
// and are there at random. Gaps are geometric.
func frequency(o result.Options, t *result.Table) {
	const seeds = 3
	shares, n := []float64{0.1, 0.01, 0.001, 0.0001}, o.Size(1_000_000, 20_000_000)
	t.Say(n, seeds)
	measured := result.Grid(o, len(shares), seeds, func(i, seed int) float64 {
		c := config(frequencyModel(shares[i]))
		c.Seed = uint64(seed)
		return frequentMisses(result.Must(paper.NewStable(c)), shares[i], n, uint64(seed))
	})
	for i, share := range shares {
		model := frequencyModel(share)
		row := result.MeasuredRow(fmt.Sprint(share), "", float64(model.Cells))
		row.Cells = append(row.Cells, result.Spread(measured[i]...))
		mean := func(own float64) float64 { return 100 * geometricMean(model, share, model.SetRate(own, 0)) }
		t.Rows = append(t.Rows, row.And("%", mean(0), mean(share)))
	}
}

// frequencyModel returns the filter for elements of a share: 20 cells for each element of
// their mean gap.
func frequencyModel(share float64) theory.Stable {
	return theory.Stable{Cells: int(math.Round(20 / share)), K: 2, P: 4, Max: 1}
}

// frequentMisses returns the share of misses among repetitions of the frequent elements.
func frequentMisses(f *paper.Stable, share float64, n int, seed uint64) float64 {
	random := rand.New(rand.NewPCG(seed, 0))
	frequent := uint64(max(1, math.Round(0.2/share)))
	came, next := stream.NewKnown(int(frequent)), frequent
	var score stream.Score
	for range n {
		element := next
		if random.Float64() < share*float64(frequent) {
			element = random.Uint64N(frequent)
		} else {
			next++
		}
		if seen := f.TestAndSet(stream.Digest(element)); element < frequent {
			score.Add(came.Add(element), seen)
		}
	}
	return score.FNR()
}

// geometricMean returns the mean of FNRAt over gaps with the distribution of the distances
// of an element that makes up a share of the stream: share (1-share)^gap. It takes the
// middle of each of 2000 equally likely parts.
func geometricMean(model theory.Stable, share, set float64) float64 {
	const parts = 2000
	sum := 0.0
	for i := range parts {
		gap := math.Floor(math.Log1p(-(float64(i)+0.5)/parts) / math.Log1p(-share))
		sum += result.Must(model.FNRAt(int(gap), set))
	}
	return sum / parts
}

// time shows the cost of an element by the size of the filter (Theorem 4).
func time(_ result.Options, t *result.Table) {
	sizes := []float64{1000, 100_000, 10_000_000, 1_000_000_000}
	t.AddColumns("%d cells", sizes...)
	for _, r := range recommendations() {
		var touched []float64
		for _, size := range sizes {
			touched = append(touched, float64(r.most+result.Must(forms.StableP(int(size), r.most, r.top, r.fps))))
		}
		t.AddRow(fmt.Sprintf("%s, K %d", r, r.most), "", touched...)
	}
}
