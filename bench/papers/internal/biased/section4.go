package biased

import (
	"context"
	"fmt"
	"math"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/bench/chart"
	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
	"github.com/flowdedup/flowdedup/bench/papers/internal/stream"
	"github.com/flowdedup/flowdedup/engine/paper"
	"github.com/flowdedup/flowdedup/engine/theory"
)

// printedX is X_m by the recurrences as they are printed: the probability that a new
// element finds all its bits set. Each adds to u = X^(1/k) what it returns.
var printedX = map[theory.BiasedMethod]func(u, x, s, k float64, m int) float64{
	theory.RSBF: func(u, x, s, _ float64, m int) float64 { // Eq. 3.27
		return (1 - x) / max(s, float64(m)) * (1 - u)
	},
	theory.BSBF:   func(u, x, s, _ float64, _ int) float64 { return (1 - x) / s * (1 - u) },   // Eq. 4.3
	theory.BSBFSD: func(u, x, s, k float64, _ int) float64 { return (1 - x) / s * (1 - u/k) }, // before Eq. 4.5
	theory.RLBSBF: func(u, x, s, _ float64, _ int) float64 { return (1 - x) / s * (1 - u*u) }, // Eq. 5.2, with the load u
}

// recurrence shows X along a stream of different elements: by the printed recurrences,
// measured, and by the closed form that this project has instead.
func recurrence(ctx context.Context, o result.Options) (result.Table, error) {
	const k = 2
	size := 20_000
	if o.Full {
		size = 1_000_000
	}
	times := []float64{0.5, 1, 2, 4, 8, 16, 32}
	methods := rivals()[1:]
	all := make([][3]chart.Line, len(methods)) // printed, measured, closed form
	err := result.Parallel(ctx, len(methods), o.Workers, func(i int) (err error) {
		all[i], err = alongX(ctx, methods[i], k, size, times)
		return err
	})
	if err != nil {
		return result.Table{}, err
	}
	out := result.Table{
		Title: "X, the rate at which new elements are reported, by the printed recurrences",
		Setting: fmt.Sprintf("k = %d filters of s = %d bits, all elements different. Measured is the product of the shares of bits set. The closed form is theory.Biased.",
			k, size),
		Corner: "filter, elements / s",
		Notes: []string{"The lemmas of sections 3 to 5 have X rise to 1, and so the FNR fall to 0. It does not: the recurrences take \"reported distinct\" and \"this bit is clear\" as independent, " +
			"but an element is inserted because one of its bits is clear. With k = 2, RSBF settles where clearings and settings balance, at X = 0.25, BSBF at 0.382 with 0.618 of the bits set, RLBSBF at 0.570. " +
			"Only BSBFSD, which clears one bit for two that it sets, fills up, and later than the recurrence has it. In the paper's own tables, too, no other FPR comes near 1."},
		Charts: []result.Picture{{File: "p1-recurrence", Chart: chart.Chart{Title: "X by the printed recurrences, and measured", X: "elements / s", Y: "X", LogX: true}}},
	}
	for _, at := range times {
		out.Columns = append(out.Columns, fmt.Sprint(at))
	}
	for _, lines := range all {
		for _, l := range lines {
			out.Rows = append(out.Rows, result.MeasuredRow(l.Name, "", l.Y...))
		}
		out.Charts[0].Chart.Lines = append(out.Charts[0].Chart.Lines, lines[0], lines[1])
	}
	return out, nil
}

// alongX returns X at some times, given in elements for each bit of an array.
func alongX(ctx context.Context, m method, k, size int, times []float64) (lines [3]chart.Line, err error) {
	for i, name := range []string{"printed", "measured", "closed form"} {
		lines[i] = chart.Line{Name: m.name + ", " + name, X: times, Dashed: i == 0}
	}
	f, err := m.new(paper.BiasedConfig{Bits: k * size, K: k, Seed: 1})
	if err != nil {
		return lines, err
	}
	u, done := 0.0, 0
	digests, seen := make([]digest.Digest, 0, size), make([]bool, size)
	for _, at := range times {
		for end := int(at * float64(size)); done < end; {
			if err := ctx.Err(); err != nil {
				return lines, err
			}
			digests = digests[:0]
			for ; done < end && len(digests) < cap(digests); done++ {
				u += printedX[m.model](u, math.Pow(u, float64(k)), float64(size), float64(k), done)
				digests = append(digests, stream.Digest(uint64(done)))
			}
			paper.TestAndSetAll(f, digests, seen)
		}
		lines[0].Y = append(lines[0].Y, math.Pow(min(u, 1), float64(k)))
		lines[1].Y = append(lines[1].Y, math.Pow(f.Load(), float64(k)))
		// One duplicate, since the closed form is for streams that have some.
		rates, err := theory.Biased(m.model, k, size, theory.BiasedStream{Elements: done + 1, Distinct: done})
		if err != nil {
			return lines, err
		}
		lines[2].Y = append(lines[2].Y, rates.X)
	}
	return lines, nil
}
