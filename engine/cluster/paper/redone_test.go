// SPDX-License-Identifier: Apache-2.0

package paper

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/bench/zipf"
	"github.com/flowdedup/flowdedup/engine/cluster/chain"
	"github.com/flowdedup/flowdedup/engine/paper"
	"github.com/flowdedup/flowdedup/engine/theory"
)

const (
	// simulations is how often engine/paper repeats an experiment that the wire does
	// once.
	simulations = 8
	// deviations is the allowed distance of the wire in standard deviations of the
	// simulations: with seven degrees of freedom one value in 2000 is further off by
	// chance. Seeds are fixed.
	deviations = 6
	events     = 100_000
	hashes     = 4
)

// dataset is a stream of the paper: a number of ids by Zipf's law, a number of events,
// and the bits for false positive rates of 2, 5 and 8 %.
type dataset struct {
	name          string
	ids, distinct int
	bits          [3]int
}

var (
	webLog    = dataset{"web log", 33_346, 16_850, [3]int{143_000, 105_000, 89_000}}
	synthetic = dataset{"synthetic", 5_994, 5_700, [3]int{48_400, 35_600, 30_000}}
	yahoo     = dataset{"Yahoo", 2_050, 2_049, [3]int{17_400, 12_800, 10_800}}
)

// draw returns the ids of a run.
func (d dataset) draw(run int) []uint32 {
	ranks, random := zipf.New(d.ids, 1), rand.NewPCG(1000+uint64(run), 0)
	ids := make([]uint32, events)
	for i := range ids {
		ids[i] = uint32(ranks.Draw(random.Uint64()))
	}
	return ids
}

// digestOf gives the ids of each run digests of their own.
func digestOf(run int, id uint32) digest.Digest {
	d := mix(uint64(run+1)<<40 + uint64(id) + 1)
	return digest.Digest{d, mix(d + 1)}
}

// score counts verdicts.
type score struct {
	known                              []bool
	distinct, duplicates, false1, miss int
}

func newScore(d dataset) *score { return &score{known: make([]bool, d.ids)} }

func (s *score) add(id uint32, seen bool) {
	if s.known[id] {
		s.duplicates++
		if !seen {
			s.miss++
		}
		return
	}
	s.known[id] = true
	s.distinct++
	if seen {
		s.false1++
	}
}

func (s *score) fpr() float64 { return 100 * float64(s.false1) / float64(s.distinct) }
func (s *score) fnr() float64 { return 100 * float64(s.miss) / float64(s.duplicates) }

// redone is a report: tables of numbers over the wire next to simulated ones.
type redone struct {
	t   *testing.T
	out bytes.Buffer
}

func (r *redone) table(title string, columns ...string) {
	fmt.Fprintf(&r.out, "\n## %s\n\n| %s |\n|%s\n", title, strings.Join(columns, " | "), strings.Repeat("---|", len(columns)))
}

// compare returns the cells of a number: over the wire, the mean of the simulations, and
// their allowed distance. floor is the effect of one event.
func (r *redone) compare(what string, wire float64, simulated []float64, floor float64) string {
	r.t.Helper()
	mean, squares := 0.0, 0.0
	for _, v := range simulated {
		mean += v / float64(len(simulated))
	}
	for _, v := range simulated {
		squares += (v - mean) * (v - mean)
	}
	n := float64(len(simulated))
	allowed := deviations*math.Sqrt(squares/(n-1)*(1+1/n)) + floor
	if math.Abs(wire-mean) > allowed {
		r.t.Errorf("%s: %.4g over the wire, %.4g in simulations, within %.4g", what, wire, mean, allowed)
	}
	return fmt.Sprintf("%.3g | %.3g ± %.2g", wire, mean, allowed)
}

// simulate runs f for each simulation, side by side.
func simulate(t *testing.T, f func(run int) (values []float64, err error)) [][]float64 {
	t.Helper()
	type result struct {
		run    int
		values []float64
		err    error
	}
	results, free := make(chan result), make(chan bool, runtime.NumCPU())
	for run := range simulations {
		go func() {
			free <- true
			values, err := f(run)
			<-free
			results <- result{run, values, err}
		}()
	}
	byValue := [][]float64{}
	for range simulations {
		one := <-results
		if one.err != nil {
			t.Fatal(one.err)
		}
		for i, v := range one.values {
			if len(byValue) <= i {
				byValue = append(byValue, make([]float64, simulations))
			}
			byValue[i][one.run] = v
		}
	}
	return byValue
}

// ways are the two ways to slice, with the filter that simulates each.
var ways = []struct {
	name string
	make func(paper.SlicedConfig) (*paper.Sliced, error)
}{
	{"vertical", paper.NewVertical}, {"horizontal", paper.NewHorizontal},
}

// loads returns the load of slices: fairness, and the largest share, in percent.
func loads(all []int) (values []float64, err error) {
	fairness, err := theory.Fairness(all)
	sum, largest := 0, 0
	for _, n := range all {
		sum, largest = sum+n, max(largest, n)
	}
	return []float64{fairness, 100 * float64(largest) / float64(sum)}, err
}

// fill sends a stream through the filter of a hub, by test-and-set. Each verdict must
// equal the unsliced filter's. It returns the false positive rate, fairness and largest
// load.
func fill(t *testing.T, d dataset, shape chain.Shape) (values []float64) {
	t.Run("wire", func(t *testing.T) {
		p, sc, one := newProduct(t, shape), newScore(d), newOne(t, shape)
		ids := d.draw(simulations)
		const batch = 1000
		digests := make([]digest.Digest, batch)
		for from := 0; from < events; from += batch {
			for i := range digests {
				digests[i] = digestOf(simulations, ids[from+i])
			}
			for i, seen := range p.ask(digests) {
				if want := one.testAndSet(digests[i][0]); seen != want {
					t.Fatalf("event %d: duplicate %v, want %v", from+i, seen, want)
				}
				sc.add(ids[from+i], seen)
			}
		}
		load, err := loads(p.tests())
		if err != nil || sc.miss > 0 {
			t.Fatalf("%v, %d duplicates missed", err, sc.miss)
		}
		values = append([]float64{sc.fpr()}, load...)
	})
	return values
}

// simulateFill is fill by engine/paper.
func simulateFill(t *testing.T, d dataset, way int, slices, bits int) [][]float64 {
	return simulate(t, func(run int) ([]float64, error) {
		f, err := ways[way].make(paper.SlicedConfig{Bits: bits, K: hashes, Slices: slices})
		if err != nil {
			return nil, err
		}
		sc := newScore(d)
		for _, id := range d.draw(run) {
			sc.add(id, f.TestAndSet(digestOf(run, id)))
		}
		load, err := loads(f.Loads())
		return append([]float64{sc.fpr()}, load...), err
	})
}

// slicing is Figures 5(a-c) and 7(a,b).
func (r *redone) slicing(figure string, d dataset, withLoads bool) {
	columns := []string{"slices"}
	for _, way := range ways {
		for _, rate := range []string{"2 %", "5 %", "8 %"} {
			columns = append(columns, way.name+", "+rate, "simulated")
		}
	}
	if withLoads {
		for _, way := range ways {
			columns = append(columns, way.name+", fairness", "simulated", "largest load, %", "simulated")
		}
	}
	r.table(fmt.Sprintf("Figure %s: %s, false positives in %%", figure, d.name), columns...)
	for _, slices := range []int{1, 10, 40, 70, 100} {
		cells, load := "", ""
		for way := range ways {
			for i, bits := range d.bits {
				what := fmt.Sprintf("%s, %d %s slices, %d bits", d.name, slices, ways[way].name, bits)
				wire := fill(r.t, d, shapeOf(way, slices, bits))
				simulated := simulateFill(r.t, d, way, slices, bits)
				cells += " | " + r.compare(what, wire[0], simulated[0], 200/float64(d.distinct))
				if i == 0 {
					load += " | " + r.compare(what+", fairness", wire[1], simulated[1], 0.001) +
						" | " + r.compare(what+", largest load", wire[2], simulated[2], 0.1)
				}
			}
		}
		if !withLoads {
			load = ""
		}
		fmt.Fprintf(&r.out, "| %d%s%s |\n", slices, cells, load)
	}
}

// TestFill sends a stream through both kinds of slices: see fill.
func TestFill(t *testing.T) {
	for way := range ways {
		fill(t, yahoo, shapeOf(way, 10, yahoo.bits[2]))
	}
}

// TestLose makes two of six slices lose their state: the rate is as in Figure 1(b).
func TestLose(t *testing.T) {
	r := &redone{t: t}
	if rate := r.lose(6, 2); math.Abs(rate-11.6) > 3.2 {
		t.Errorf("%.1f %%, want 11.6", rate)
	}
}

// TestFail cuts a site off from two of eight slices: the rate is as in Figure 1(b).
func TestFail(t *testing.T) {
	r := &redone{t: t}
	seen := r.failOne(t, 8, 2, 7)
	if rate := 100 * float64(seen) / tested; math.Abs(rate-26.5) > 12 {
		t.Errorf("%.1f %%, want 26.5", rate)
	}
}

// TestRedone repeats the figures 1, 5, 7(a,b), 10, 11 and 12(c) of the paper over NATS,
// next to engine/paper, and writes them to the file that FLOWDEDUP_FIGURES names.
func TestRedone(t *testing.T) {
	name := os.Getenv("FLOWDEDUP_FIGURES")
	if name == "" {
		t.Skip("takes minutes: make test SUITE=figures")
	}
	r := &redone{t: t}
	fmt.Fprintf(&r.out, `# "One is Enough" over the wire

Made by `+"`make test SUITE=figures`"+` ([engine/cluster/paper](../../engine/cluster/paper/doc.go)).
All figures are of flowdedup-hub itself: its slices, chains and trees, its server, and a sensor's
client. Vertical slices of Figures 1 and 5(d) are its chains (engine/cluster/chain), whose slices
lose what they knew; horizontal ones are cut off from the site that asks. Beside each number is what
[engine/paper](../../engine/paper/doc.go) counts in one process: the mean of %d runs of other
streams, and how far the wire may be from it, %d standard deviations of such a run and what one
event or two make. Each verdict of Figures 5, 7, 10 and 11, and of dense trees, is also compared
with that of engine/paper's filter. Streams are those of [RESULTS.md](RESULTS.md): %d events, by
Zipf's law with exponent 1, k = %d. Seeds are fixed, so every run gives the same numbers.
`, simulations, deviations, events, hashes)
	r.failed()
	r.tolerated()
	r.slicing("5(a-c)", webLog, true)
	r.hybrid()
	r.slicing("7(a)", synthetic, false)
	r.slicing("7(b)", yahoo, false)
	r.bursts()
	r.topDown()
	if t.Failed() {
		return
	}
	if err := os.WriteFile(name, r.out.Bytes(), 0o644); err != nil {
		t.Error(err)
	}
}
