package stable

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/flowdedup/flowdedup/bench/chart"
	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
	"github.com/flowdedup/flowdedup/bench/papers/internal/stream"
	"github.com/flowdedup/flowdedup/engine/paper"
	"github.com/flowdedup/flowdedup/engine/theory"
)

// The memory and the gap of Figure 1: misses are neither rare nor certain there.
const (
	figureBits = 100_000
	figure1Gap = 4_000
	largestK   = 8
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

// weights are those of Eq. 19 that are shown: the paper's test value, and larger ones.
var weights = []weight{{1e-5, 0}, {1e-4, 0}, {1e-3, 0}, {0, 0.001}, {0, 0.01}, {0, 0.1}}

// figure1 is the miss rate by K, by the closed form and measured.
func figure1(ctx context.Context, o result.Options) (result.Table, error) {
	settings := []setting{{1, 1, 0.2}, {1, 1, 0.1}, {1, 1, 0.01}, {3, 2, 0.1}, {3, 2, 0.01}, {15, 4, 0.01}}
	n := 200_000
	if o.Full {
		n = 5_000_000
	}
	formula, measured := newGrid(len(settings), largestK), newGrid(len(settings), largestK)
	weighted := newGrid(len(weights), largestK)
	err := result.Parallel(ctx, len(settings)*largestK, o.Workers, func(task int) error {
		i, j := task/largestK, task%largestK
		model, err := settings[i].model(figureBits, j+1)
		if err != nil {
			return err
		}
		if formula[i][j], err = model.FNR(figure1Gap); err != nil {
			return err
		}
		if settings[i] == (setting{1, 1, 0.1}) {
			for w, weight := range weights {
				if weighted[w][j], err = model.FNRAt(figure1Gap, model.SetRate(weight.share, weight.phi)); err != nil {
					return err
				}
			}
		}
		measured[i][j], err = missRate(ctx, model, figure1Gap, n)
		return err
	})
	if err != nil {
		return result.Table{}, err
	}
	var ks []float64
	for k := range largestK {
		ks = append(ks, float64(k+1))
	}
	out := headed(result.Table{
		Title: "Misses by the number of hash functions",
		Setting: fmt.Sprintf("%d bits, all duplicates with %d other elements in between, P by Eq. 17 rounded up; %d elements measured, half of them duplicates. "+
			"Eq. 19 is for Max 1 and FPS 10 %%, with f/N or phi above 0.", figureBits, figure1Gap, n),
		Corner: "setting, FNR",
		Notes: []string{"The printed figure has no numbers. Its message: the best K is small and depends on Max and FPS alone (see p0.parameters); " +
			"for Max = 1 and FPS = 10 % it is 2.",
			"Eq. 19 is for an element that makes up f/N of the stream and whose cells others set more often than the mean by phi. Up to the paper's f/N = 0.00001 " +
				"and phi = 0.001 it changes the rates by 2 %. The best K stays 2, or is 1 by a hundredth. For what Eq. 19 is worth where f/N is large, see p0.frequency."},
	}, "K=%d", ks, result.Picture{File: "p0-figure1", Chart: chart.Chart{Title: "Misses by K", X: "K", Y: "false negative rate"}})
	for i, s := range settings {
		addLine(&out, s.String()+", closed form", ks, formula[i], true)
		addLine(&out, s.String()+", measured", ks, measured[i], false)
	}
	for i, w := range weights {
		addLine(&out, w.String(), ks, weighted[i], true)
	}
	return out, nil
}

// figure2 is the miss rate with Max = 3 less that with Max = 1, by the gap.
func figure2(ctx context.Context, o result.Options) (result.Table, error) {
	bounds := []float64{0.2, 0.1, 0.01, 0.001}
	gaps := []float64{100, 300, 1000, 3000, 10_000, 30_000, 100_000}
	phis := []float64{0.001, 0.01, 0.1}
	n := 100_000
	if o.Full {
		n = 2_000_000
	}
	formula, measured, excess := newGrid(len(bounds), len(gaps)), newGrid(len(bounds), len(gaps)), newGrid(len(phis), len(gaps))
	err := result.Parallel(ctx, len(bounds)*len(gaps), o.Workers, func(task int) (err error) {
		i, j := task/len(gaps), task%len(gaps)
		gap := int(gaps[j])
		measured[i][j], err = compareMax(bounds[i], func(s theory.Stable) (float64, error) { return missRate(ctx, s, gap, n+2*gap) })
		if err != nil {
			return err
		}
		formula[i][j], err = compareMax(bounds[i], func(s theory.Stable) (float64, error) { return s.FNR(gap) })
		if i < len(phis) && err == nil {
			excess[i][j], err = compareMax(0.1, func(s theory.Stable) (float64, error) { return s.FNRAt(gap, s.SetRate(0, phis[i])) })
		}
		return err
	})
	if err != nil {
		return result.Table{}, err
	}
	out := headed(result.Table{
		Title: "Misses with Max = 3 less those with Max = 1, by the gap",
		Setting: fmt.Sprintf("%d bits for both, K the best for each where some and not all are missed, P by Eq. 17 rounded up. A gap counts the elements in between. "+
			"%d elements measured, half of them duplicates, and two gaps more.", figureBits, n),
		Corner: "FPS, difference of FNR",
		Notes: []string{"The printed figure has no numbers. Its message: Max = 3 is better for short gaps, Max = 1 beyond some threshold; " +
			"for very long ones there is no difference.",
			"With phi (Eq. 18) the cells of an element are set more often by others, so that fewer elements are missed and the threshold moves to longer gaps."},
	}, "gap %d", gaps, result.Picture{File: "p0-figure2", Chart: chart.Chart{
		Title: "Misses with Max = 3 less those with Max = 1", X: "gap, elements", Y: "difference of false negative rates", LogX: true}})
	for i, fps := range bounds {
		addLine(&out, fmt.Sprintf("FPS %g %%, closed form", 100*fps), gaps, formula[i], true)
		addLine(&out, fmt.Sprintf("FPS %g %%, measured", 100*fps), gaps, measured[i], false)
	}
	for i, phi := range phis {
		addLine(&out, fmt.Sprintf("FPS 10 %%, Eq. 19, phi = %g", phi), gaps, excess[i], true)
	}
	return out, nil
}

// compareMax returns a rate of the filter with Max = 3 less that of the one with Max = 1.
func compareMax(fps float64, rate func(theory.Stable) (float64, error)) (difference float64, err error) {
	for _, s := range []struct {
		setting
		sign float64
	}{{setting{3, 2, fps}, 1}, {setting{1, 1, fps}, -1}} {
		model, err := theory.StableBestK(figureBits/s.d, s.top, fps, figureBits/25)
		if err != nil {
			return 0, err
		}
		r, err := rate(model)
		if err != nil {
			return 0, err
		}
		difference += s.sign * r
	}
	return difference, nil
}

// recommendation is what section 4.1 prints for a setting.
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

// parameters finds the best K and P for the settings of section 4.1, at gaps of which few
// to most are missed.
func parameters(context.Context, result.Options) (result.Table, error) {
	const cells = 1_000_000
	out := result.Table{
		Title: "Best K and P",
		Setting: "Closed forms for a million cells: the K with the fewest misses at the gap of which the best K misses some share, with P by Eq. 17 rounded up. " +
			"K is compared with the nearest that is printed.",
		Corner: "setting",
		Notes: []string{"The paper rounds P down, by which its bound is above the one asked for (last column); rounded up it is kept.",
			"\"Optimal or near optimal\" is what the paper calls its K. The best K is not independent of the gap, as Observation 1 has it: with Max = 1 it is " +
				"the printed one up to 40 % of misses, and 4 at 80 % with FPS = 20 %. With Max = 3 and FPS = 1 % it is 6 where 1 % is missed, and 4 from 10 % on; \"between 4 and 5\" is " +
				"printed. How much more the nearest printed K misses is in the columns beside."},
	}
	for _, level := range missLevels {
		out.Columns = append(out.Columns, fmt.Sprintf("K, %g %% missed", 100*level), "more with the printed K")
	}
	out.Columns = append(out.Columns, "P by Eq. 17 at the largest printed K", "the same rounded down", "bound with that, %")
	for _, r := range recommendations() {
		row := result.Row{Name: r.String()}
		for _, level := range missLevels {
			pair, err := r.bestK(cells, level)
			if err != nil {
				return result.Table{}, err
			}
			row.Cells = append(row.Cells, pair...)
		}
		exact, err := theory.StablePExact(cells, r.most, r.top, r.fps)
		if err != nil {
			return result.Table{}, err
		}
		down := math.Floor(exact)
		fps, err := theory.Stable{Cells: cells, K: r.most, P: int(down), Max: r.top}.FPS()
		if err != nil {
			return result.Table{}, err
		}
		row.Cells = append(row.Cells, result.Measured(exact, ""), result.Compared(down, r.p, ""), result.Measured(100*fps, "%"))
		out.Rows = append(out.Rows, row)
	}
	return out, nil
}

// bestK returns the best K beside the nearest printed one, and how much more that misses,
// at the shortest gap of which the best misses a share of level.
func (r recommendation) bestK(cells int, level float64) ([]result.Cell, error) {
	var best theory.Stable
	rate, low, high := 0.0, 1, 100*cells
	for low < high {
		gap := (low + high) / 2
		b, err := theory.StableBestK(cells, r.top, r.fps, max(gap, r.top))
		if err == nil { // else the gap is too short to miss any
			if rate, err = b.FNR(gap); err != nil {
				return nil, err
			}
		}
		if err != nil || rate < level {
			low = gap + 1
			continue
		}
		high, best = gap, b
	}
	printed, err := r.model(cells*r.d, min(max(best.K, r.fewest), r.most))
	if err != nil {
		return nil, err
	}
	theirs, err := printed.FNR(high)
	if err != nil {
		return nil, err
	}
	if rate, err = best.FNR(high); err != nil {
		return nil, err
	}
	return []result.Cell{result.Compared(float64(best.K), float64(printed.K), ""), result.Measured(100*(theirs/rate-1), "%")}, nil
}

// gapTraces are streams whose gaps favor large and small cells.
func gapTraces(ctx context.Context, n int, seed uint64) (names []string, traces []trace, err error) {
	repeating, err := crawl(ctx, n, seed)
	return []string{"gaps 1 to 300", "gaps 2000 to 20,000", "gaps 1 to 20,000", "crawl, 10M"},
		[]trace{lagTrace(n, 1, 300, seed), lagTrace(n, 2000, 20_000, seed), lagTrace(n, 1, 20_000, seed), repeating}, err
}

// gapsOf returns a stream's gap distribution. It merges gaps that differ by less than a
// tenth.
func gapsOf(t trace) []theory.Gap {
	last := map[uint32]int{}
	var weights [400]float64
	for i, element := range t {
		if before, known := last[element]; known {
			weights[int(10*math.Log(float64(i-before)))]++
		}
		last[element] = i
	}
	var gaps []theory.Gap
	for i, weight := range weights {
		if weight > 0 {
			gaps = append(gaps, theory.Gap{Elements: int(math.Exp((float64(i)+0.5)/10)) - 1, Weight: weight})
		}
	}
	return gaps
}

// bestMax chooses Max by the distribution of gaps, as "The setting of Max" has it, and
// measures the choices on another stream of the same kind.
func bestMax(ctx context.Context, o result.Options) (result.Table, error) {
	n := 200_000
	if o.Full {
		n = 5_000_000
	}
	const bits, fps = 20_000, 0.05
	names, traces, err := gapTraces(ctx, n, streamSeed)
	if err != nil {
		return result.Table{}, err
	}
	_, others, err := gapTraces(ctx, n, streamSeed+1)
	if err != nil {
		return result.Table{}, err
	}
	rows := make([]result.Row, len(names))
	err = result.Parallel(ctx, len(names), o.Workers, func(i int) error {
		choices, err := theory.StableByCellBits(bits, 3, fps, gapsOf(traces[i]))
		if err != nil {
			return err
		}
		best, err := theory.StableBestMax(bits, 3, fps, gapsOf(traces[i]))
		if err != nil {
			return err
		}
		rows[i] = result.Row{Name: names[i], Cells: []result.Cell{result.Measured(float64(best.Max), "")}}
		for _, c := range choices {
			score, err := others[i].rates(ctx, config(c.Stable), 0)
			if err != nil {
				return err
			}
			rows[i].Cells = append(rows[i].Cells, result.Measured(float64(c.K), ""), result.Measured(float64(c.P), ""),
				result.Measured(100*c.FNR, "%"), result.Measured(100*score.FNR(), "%"), result.Measured(100*score.FPR(), "%"))
		}
		return nil
	})
	out := result.Table{
		Title: "The best Max for a distribution of gaps",
		Setting: fmt.Sprintf("%d bits, FPS = %g %%, %d elements. K, P and Max by Eq. 15 from the gaps of one stream, measured on another of its kind. "+
			"Gaps are log-uniform within their limits.", bits, 100*fps, n),
		Corner:  "stream",
		Columns: []string{"best Max"},
		Rows:    rows,
		Notes: []string{"The paper tries Max = 1, 3 and 7. Larger cells miss fewer at short gaps and more at long ones; for unknown gaps it advises 1. " +
			"Formulas are exact for streams of elements that are all alike: frequent elements set their cells again and again, which hides others less than the formulas have it."},
	}
	for _, top := range []int{1, 3, 7} {
		for _, what := range []string{"K", "P", "FNR, Eq. 15", "FNR, measured", "FPR, measured"} {
			out.Columns = append(out.Columns, fmt.Sprintf("Max %d: %s", top, what))
		}
	}
	return out, err
}

// frequency measures the misses of elements that make up a share f/N of the stream each,
// and are there at random. Gaps are geometric.
func frequency(ctx context.Context, o result.Options) (result.Table, error) {
	shares := []float64{0.1, 0.01, 0.001, 0.0001}
	n := 1_000_000
	if o.Full {
		n = 20_000_000
	}
	const seeds = 3
	measured := newGrid(len(shares), seeds)
	err := result.Parallel(ctx, len(shares)*seeds, o.Workers, func(task int) error {
		i, seed := task/seeds, task%seeds
		c := config(frequencyModel(shares[i]))
		c.Seed = uint64(seed)
		f, err := paper.NewStable(c)
		if err != nil {
			return err
		}
		measured[i][seed], err = frequentMisses(ctx, f, shares[i], n, uint64(seed))
		return err
	})
	if err != nil {
		return result.Table{}, err
	}
	out := result.Table{
		Title: "Misses of elements by their own frequency: Eq. 18 and 19",
		Setting: fmt.Sprintf("%d elements: a fifth of them from a set in which each makes up f/N of the stream, the others all different. K = 2, P = 4, Max = 1, "+
			"with cells such that as many are missed for each f/N. Closed forms are means over the gaps, which are geometric. Mean and half the span of %d seeds.", n, seeds),
		Corner:  "f/N",
		Columns: []string{"cells", "measured", "closed form, f/N = 0 in Eq. 18", "closed form, f/N in Eq. 18"},
		Notes: []string{"Eq. 18 adds the element's own share to the rate at which its cells are set. But a gap is what lies between two occurrences of the element, so " +
			"none of its own settings falls into it. With f/N = 0 the formula is right for every frequency; with the element's own it is too low by half, as nearly all settings " +
			"of a frequent element's cells are its own. Where f/N is far below K/m, as in the paper's example (0.000001 beside 0.00001), it makes no difference."},
	}
	for i, share := range shares {
		model := frequencyModel(share)
		row := result.Row{Name: fmt.Sprint(share), Cells: []result.Cell{result.Measured(float64(model.Cells), ""), result.Spread(measured[i], 100, "%")}}
		for _, own := range []float64{0, share} {
			rate, err := geometricMean(model, share, model.SetRate(own, 0))
			if err != nil {
				return result.Table{}, err
			}
			row.Cells = append(row.Cells, result.Measured(100*rate, "%"))
		}
		out.Rows = append(out.Rows, row)
	}
	return out, nil
}

// frequencyModel returns the filter for elements of a share: 20 cells for each element of
// their mean gap.
func frequencyModel(share float64) theory.Stable {
	return theory.Stable{Cells: int(math.Round(20 / share)), K: 2, P: 4, Max: 1}
}

// frequentMisses returns the share of misses among repetitions of the frequent elements.
func frequentMisses(ctx context.Context, f *paper.Stable, share float64, n int, seed uint64) (float64, error) {
	random := rand.New(rand.NewPCG(seed, 0))
	frequent := max(1, int(math.Round(0.2/share)))
	came := stream.NewKnown(frequent)
	next := uint64(frequent)
	var score stream.Score
	for i := range n {
		if i%batchSize == 0 && ctx.Err() != nil {
			return 0, ctx.Err()
		}
		element := next
		if random.Float64() < share*float64(frequent) {
			element = random.Uint64N(uint64(frequent))
		} else {
			next++
		}
		if seen := f.TestAndSet(stream.Digest(element)); element < uint64(frequent) {
			score.Add(came.Add(element), seen)
		}
	}
	return score.FNR(), nil
}

// geometricMean returns the mean of FNRAt over gaps with the distribution of the distances
// of an element that makes up a share of the stream: share (1-share)^gap. It takes the
// middle of each of 2000 equally likely parts.
func geometricMean(model theory.Stable, share, set float64) (float64, error) {
	const parts = 2000
	sum := 0.0
	for i := range parts {
		gap := math.Floor(math.Log1p(-(float64(i)+0.5)/parts) / math.Log1p(-share))
		rate, err := model.FNRAt(int(gap), set)
		if err != nil {
			return 0, err
		}
		sum += rate
	}
	return sum / parts, nil
}

// time shows what an element costs by the size of the filter (Theorem 4).
func time(context.Context, result.Options) (result.Table, error) {
	sizes := []float64{1000, 100_000, 10_000_000, 1_000_000_000}
	out := headed(result.Table{
		Title:   "Cells touched for an element, by the number of cells",
		Setting: "K + P, with P by Eq. 17 rounded up and the largest printed K of section 4.1.",
		Corner:  "setting",
		Notes: []string{"Theorem 4: the time for an element does not depend on the size of the filter, nor on the stream. The theorem's proof has P \"inversely proportional\" to m; " +
			"by Eq. 17 P tends to a constant, from above, and is within one of it from a thousand cells on. In time of day a larger filter takes longer, as its cells miss the caches."},
	}, "%d cells", sizes, result.Picture{})
	out.Charts = nil
	for _, r := range recommendations() {
		row := result.Row{Name: fmt.Sprintf("%s, K %d", r, r.most)}
		for _, size := range sizes {
			p, err := theory.StableP(int(size), r.most, r.top, r.fps)
			if err != nil {
				return result.Table{}, err
			}
			row.Cells = append(row.Cells, result.Measured(float64(r.most+p), ""))
		}
		out.Rows = append(out.Rows, row)
	}
	return out, nil
}
