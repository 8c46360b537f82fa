// SPDX-License-Identifier: Apache-2.0

package stable

import (
	"fmt"
	"math"
	"runtime"
	clock "time"

	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
	"github.com/flowdedup/flowdedup/bench/papers/internal/stream"
	"github.com/flowdedup/flowdedup/engine/paper"
	"github.com/flowdedup/flowdedup/engine/theory"
)

// buffers compares LRU with Clock, and FPbuffering as a filter with what follows from the
// buffer's misses.
func buffers(o result.Options, t *result.Table) {
	set, scale := datasets()[1], o.Size(16, 1)
	const q = 0.1
	crawl := set.draw(scale, streamSeed)
	t.Say(len(crawl), scale, 100*q)
	t.Rows = result.Map(o, set.bits[:4], func(bits float64) result.Row {
		size := int(bits) / scale
		scores := crawl.source().Scores(len(crawl), result.Must(paper.NewLRU(size, elementBits)),
			result.Must(paper.NewClock(size, elementBits)), result.Must(paper.NewFPBuffering(size, elementBits, q, filterSeed)))
		lru := 100 * scores[0].FNR()
		return result.MeasuredRow(fmt.Sprintf("%.0f", bits), "%", lru, 100*scores[1].FNR(), 100*scores[2].FPR(), 100*scores[2].FNR(), (1-q)*lru)
	})
}

const (
	// speedElements are elements of a round, and speedRounds the rounds of which the fastest
	// counts.
	speedElements = 200_000
	speedRounds   = 5
)

// speed times an element in an SBF and in buffers with a hash table, filled before (section
// 5.5). Rounds of the filters alternate, so that other load on the machine affects all.
func speed(_ result.Options, t *result.Table) {
	t.Timed = true
	t.Say(runtime.GOOS+"/"+runtime.GOARCH, speedRounds, speedElements)
	for _, size := range []int{1 << 16, 1 << 20, 1 << 24, 1 << 26} {
		filters := []paper.Filter{
			result.Must(paper.NewStable(config(theory.Stable{Cells: size, K: 2, P: 4, Max: 1}))),
			result.Must(paper.NewLRU(size, elementBits)), result.Must(paper.NewClock(size, elementBits)),
		}
		next := uint64(0)
		for range size / elementBits {
			for _, f := range filters {
				f.TestAndSet(stream.Digest(next))
			}
			next++
		}
		times := make([]float64, len(filters))
		for round := range speedRounds {
			for i, f := range filters {
				begin := clock.Now()
				for element := range uint64(speedElements) {
					f.TestAndSet(stream.Digest(next + element/2)) // every second one is a copy
				}
				elapsed := float64(clock.Since(begin).Nanoseconds()) / speedElements
				if round == 0 || elapsed < times[i] {
					times[i] = elapsed
				}
			}
			next += speedElements
		}
		name := fmt.Sprintf("2^%.0f bits", math.Log2(float64(size)))
		t.Rows = append(t.Rows, result.MeasuredRow(name, "ns", times...).And("", times[1]/times[0], times[2]/times[0]))
	}
}
