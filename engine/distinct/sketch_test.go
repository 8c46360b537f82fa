// SPDX-License-Identifier: Apache-2.0

package distinct

import (
	"math"
	"math/rand/v2"
	"testing"
)

// fill adds n random words of a seed.
func fill(s *Sketch, seed uint64, n int) {
	rng := rand.New(rand.NewPCG(seed, 7))
	for range n {
		s.add(rng.Uint64())
	}
}

// plainRegister is a register as the set of its update values.
type plainRegister map[int]bool

// encode returns the register of the paper's Section 3.1: the largest value, and a bit for
// each of the d below, with the empty register as value 0.
func (p plainRegister) encode() (r uint32) {
	top := 0
	for k := range p {
		top = max(top, k)
	}
	if top == 0 {
		return 0
	}
	r = uint32(top) << sketchWindowBits
	for k := max(0, top-sketchWindowBits); k < top; k++ {
		if p[k] || k == 0 {
			r |= 1 << (sketchWindowBits - (top - k))
		}
	}
	return r
}

// TestPlain compares registers with the sets of update values that they stand for, of a
// stream and of merged parts of it.
func TestPlain(t *testing.T) {
	for _, n := range []int{0, 1, 2, 100, 5_000, 300_000} {
		var whole, merged Sketch
		var parts [3]Sketch
		plain := make([]plainRegister, registers)
		rng := rand.New(rand.NewPCG(uint64(n), 1))
		for i := range n {
			w := rng.Uint64() >> rng.UintN(40) // many leading zeros
			w |= rng.Uint64() << 50 >> 50
			whole.add(w)
			parts[i%3].add(w)
			at := w >> 2 % registers
			zeros := 0
			for zeros < 50 && w>>(63-zeros)&1 == 0 {
				zeros++
			}
			if plain[at] == nil {
				plain[at] = plainRegister{}
			}
			plain[at][4*zeros+int(w%4)+1] = true
		}
		for i := range parts {
			merged.Merge(&parts[i])
		}
		for i := range plain {
			want := plain[i].encode()
			if whole.register[i] != want || merged.register[i] != want {
				t.Fatalf("%d words: register %d is %#x, merged %#x, want %#x", n, i, whole.register[i], merged.register[i], want)
			}
		}
		if merged.Estimate() != whole.Estimate() {
			t.Errorf("%d words: merged %v, whole %v", n, merged.Estimate(), whole.Estimate())
		}
		var restored Sketch
		if err := restored.Restore(whole.Append(nil)); err != nil || restored.register != whole.register {
			t.Errorf("%d words: restored another sketch: %v", n, err)
		}
	}
}

// TestSeen sets the bits of words that changed nothing.
func TestSeen(t *testing.T) {
	var s Sketch
	words, seen := make([]uint64, 70), []uint64{^uint64(0), ^uint64(0)}
	for i := range words {
		words[i] = uint64(i) << 40
		words[i] |= uint64(i) << valueBits
	}
	s.Add(seen, words)
	if seen[0] != 0 || seen[1] != 0 {
		t.Errorf("new words: seen %#x", seen)
	}
	s.Add(seen, words)
	if seen[0] != ^uint64(0) || seen[1] != 1<<6-1 {
		t.Errorf("the same again: seen %#x", seen)
	}
}

// trigamma returns the Hurwitz zeta function of 2.
func trigamma(x float64) (sum float64) {
	for ; x < 30; x++ {
		sum += 1 / (x * x)
	}
	return sum + 1/x + 1/(2*x*x) + 1/(6*x*x*x) - 1/(30*math.Pow(x, 5))
}

// product is the memory-variance product of maximum-likelihood estimates with registers of
// 6+t+d bits (Equation 14 of the paper).
func product(t, d int) float64 {
	b := math.Pow(2, math.Pow(2, -float64(t)))
	return float64(6+t+d) * math.Log(b) / trigamma(1+math.Pow(b, -float64(d))/(b-1))
}

// TestProducts compares the formula with the numbers that the papers print: HyperLogLog,
// UltraLogLog (arXiv 2308.16862), and the ExaLogLogs of Table 2.
func TestProducts(t *testing.T) {
	for _, c := range []struct {
		t, d int
		want float64
	}{{0, 0, 6.45}, {0, 2, 4.63}, {1, 9, 3.90}, {2, 20, 3.67}, {2, 24, 3.78}} {
		if got := product(c.t, c.d); math.Abs(got-c.want) > 0.005 {
			t.Errorf("t = %d, d = %d: %.4f, the paper prints %.2f", c.t, c.d, got, c.want)
		}
	}
	if saved := 1 - product(2, 24)/product(0, 0); math.Abs(saved-0.41) > 0.01 {
		t.Errorf("saves %.1f %% of HyperLogLog's memory, want 41 %%", 100*saved)
	}
}

// TestError compares the error of 400 sketches with the paper's. The standard deviation
// of 400 has itself a standard deviation of 3.5 %, that of 100 in a short test one of 7
// %: the test allows four of these.
func TestError(t *testing.T) {
	runs, sizes := 400, []int{20_000, 200_000}
	if testing.Short() {
		runs, sizes = 100, sizes[:1]
	}
	allowed := 4 / math.Sqrt(2*float64(runs))
	want := math.Sqrt(product(valueBits, sketchWindowBits) / (8 * SketchSize))
	for _, n := range sizes {
		squares, sum := 0.0, 0.0
		for seed := range runs {
			var s Sketch
			fill(&s, uint64(seed), n)
			e := float64(s.Estimate().Distinct)/float64(n) - 1
			squares += e * e
			sum += e
		}
		deviation := math.Sqrt(squares / float64(runs))
		// Few elements have less error than the limit of the formula.
		if deviation > (1+allowed)*want || n >= 200_000 && deviation < (1-allowed)*want {
			t.Errorf("%d elements: standard error %.3f %%, want %.3f %%", n, 100*deviation, 100*want)
		}
		if bias := sum / float64(runs); math.Abs(bias) > 4*want/math.Sqrt(float64(runs)) {
			t.Errorf("%d elements: bias %.3f %%", n, 100*bias)
		}
	}
}

// TestExtremes estimates sketches with no element, one, and more than there are.
func TestExtremes(t *testing.T) {
	var s Sketch
	if got := s.Estimate(); got != (Estimate{}) {
		t.Errorf("empty: %v", got)
	}
	s.Add(nil, []uint64{0, 0})
	if got := s.Estimate(); got != (Estimate{1, 1, 1}) {
		t.Errorf("one element: %v", got)
	}
	for i := range s.register {
		s.register[i] = maxValue<<sketchWindowBits | sketchWindow - 1
	}
	s.changed = true
	if got := s.Estimate(); got.Low > got.Distinct || got.Distinct > got.High || got.High != math.MaxUint64 {
		t.Errorf("full registers: %v", got)
	}
}

// TestSparse restores sketches of few elements from few bytes, and refuses others.
func TestSparse(t *testing.T) {
	for _, n := range []int{0, 1, 100, 2000, 4000, 9000} {
		var s, restored Sketch
		fill(&s, 3, n)
		b := s.Append(nil)
		if len(b) > min(6*n, SketchSize) || restored.Restore(b) != nil || restored.register != s.register {
			t.Errorf("%d elements: %d bytes", n, len(b))
		}
	}
	for name, b := range map[string][]byte{
		"odd length": make([]byte, 7), "too long": make([]byte, SketchSize+2), "empty register": make([]byte, 6),
		"beyond the last": {0, 0x10, 0, 0, 0, 1}, "no value": {0, 0, 1, 0, 0, 0},
	} {
		var s Sketch
		if s.Restore(b) == nil {
			t.Errorf("%s is restored", name)
		}
	}
}

// FuzzSparse restores any bytes as a list of registers.
func FuzzSparse(f *testing.F) {
	var s Sketch
	fill(&s, 1, 3)
	f.Add(s.Append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		var s, again Sketch
		if s.Restore(b) == nil && (again.Restore(s.Append(nil)) != nil || again.register != s.register) {
			t.Error("what was restored differs when it is saved again")
		}
	})
}

// FuzzRestore restores any bytes; accepted ones estimate and merge.
func FuzzRestore(f *testing.F) {
	var s Sketch
	fill(&s, 1, 1000)
	f.Add(uint32(0), uint32(0))
	f.Add(s.register[0], s.register[1])
	f.Add(^uint32(0), uint32(1))
	f.Fuzz(func(t *testing.T, a, b uint32) {
		var s, other Sketch
		s.register[0], s.register[7] = a, b
		err := other.Restore(s.Append(nil))
		if valid := validRegister(a) && validRegister(b); valid != (err == nil) {
			t.Fatalf("valid %v, error %v", valid, err)
		}
		if err != nil {
			return
		}
		s.changed = true
		if e := s.Estimate(); e.Low > e.Distinct || e.Distinct > e.High {
			t.Errorf("bounds %v", e)
		}
		merged := mergeRegisters(a, b)
		if !validRegister(merged) || merged != mergeRegisters(b, a) || mergeRegisters(merged, a) != merged {
			t.Errorf("%#x and %#x merge to %#x", a, b, merged)
		}
	})
}
