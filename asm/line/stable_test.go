// SPDX-License-Identifier: Apache-2.0

package line

import (
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/asm/internal/kerneltest"
	"github.com/flowdedup/flowdedup/layout"
)

// TestStableRates compares the number of bits that an insertion clears with the methods'
// definitions, in a line whose parts are filled unevenly. Means may be off by Hoeffding's
// bound for a chance of 1e-6.
func TestStableRates(t *testing.T) {
	for _, p := range stableShapes {
		t.Run(fmt.Sprintf("%+v", p), func(t *testing.T) {
			if p.Replace != 0 {
				t.Skip("it clears as many bits as it sets: TestStableModel")
			}
			checkStableRate(t, p, 1000)
			if p.Method == StableRSBF {
				checkStableRate(t, p, 64) // the reservoir is not full yet
			}
		})
	}
}

func checkStableRate(t *testing.T, p StableParams, position uint64) {
	const n = 20_000
	rng := rand.New(rand.NewPCG(31, uint64(p.K)))
	var line [8]uint64
	loads := fillParts(rng, &line, p.K)
	sum := 0
	for range n {
		// An element without any bit in the line: bits that are missing afterwards from
		// the K bits that it adds have been cleared.
		d := digest.Digest{rng.Uint64(), 0}
		for holdsAny(&line, d[0], p) {
			d[0] = rng.Uint64()
		}
		filter, counts, seen := []layout.Line{line}, StableCounts{}, []uint64{0}
		TestAndSetStable(filter, seen, []digest.Digest{d}, position, p, &counts)
		if seen[0] != 0 {
			t.Fatal("seen without any of its bits")
		}
		if filter[0] != line {
			sum += p.K - int(int64(counts.Ones))
		}
	}
	want, most := stableRate(p, loads, position)
	got := float64(sum) / n
	if bound := most * math.Sqrt(math.Log(2/1e-6)/(2*n)); math.Abs(got-want) > bound {
		t.Errorf("%.4f bits cleared for an element, want %.4f within %.4f", got, want, bound)
	}
}

// fillParts sets (j+1)/(k+2) of the bits of part j, and returns the actual shares.
func fillParts(rng *rand.Rand, line *[8]uint64, k int) (loads []float64) {
	size := 512 / k
	for j := range k {
		ones := size * (j + 1) / (k + 2)
		for _, i := range rng.Perm(size)[:ones] {
			at := j*size + i
			line[at/64] |= 1 << (at % 64)
		}
		loads = append(loads, float64(ones)/float64(size))
	}
	return loads
}

func holdsAny(line *[8]uint64, low uint64, p StableParams) bool {
	model := stableModel{StableParams: p}
	for _, bit := range model.choose(low) {
		if line[bit/64]>>(bit%64)&1 != 0 {
			return true
		}
	}
	return false
}

// stableRate returns how many bits an element clears on average, and at most.
func stableRate(p StableParams, loads []float64, position uint64) (mean, most float64) {
	sum, squares := 0.0, 0.0
	for _, load := range loads {
		sum += load
		squares += load * load
	}
	k, size := float64(p.K), float64(512/p.K)
	switch p.Method {
	case StableSBF:
		return float64(p.P) * sum * size / 512, float64(p.P)
	case StableRSBF:
		return sum * min(1, size/float64(position)), k
	case StableBSBF:
		return sum, k
	case StableBSBFSD:
		return sum / k, 1
	default:
		return squares, k
	}
}

// TestStableRandom checks that the words are uniform on inputs that are not: for
// an element that comes again and again, and for elements that only count up.
// Each part's 16 bits are tested by their upper 8, and so are pairs of r1 and r2.
func TestStableRandom(t *testing.T) {
	const n = 1 << 16
	for name, input := range map[string]func(i uint64) (low, position uint64){
		"one element":   func(i uint64) (uint64, uint64) { return 0x0123456789abcdef, i },
		"element zero":  func(i uint64) (uint64, uint64) { return 0, i },
		"every 2^20th":  func(i uint64) (uint64, uint64) { return 77, i << 20 },
		"one position":  func(i uint64) (uint64, uint64) { return i, 12345 },
		"upper half":    func(i uint64) (uint64, uint64) { return i << 40, 1 },
		"both counting": func(i uint64) (uint64, uint64) { return i, i },
		"reversed bits": func(i uint64) (uint64, uint64) { return bits.Reverse64(i), i },
	} {
		t.Run(name, func(t *testing.T) {
			var bins [12][256]int
			for i := range uint64(n) {
				r1 := prng(input(i + 1))
				r2 := prngNext(r1)
				for j := range 4 {
					high1, high2 := r1>>(16*j+8)&0xff, r2>>(16*j+8)&0xff
					bins[j][high1]++
					bins[4+j][high2]++
					bins[8+j][high1>>4<<4|high2>>4]++
				}
			}
			for i := range bins {
				if x := chiSquare(bins[i][:], n); x > chiSquareBound(255) {
					t.Errorf("bins %d: chi-square %.1f", i, x)
				}
			}
		})
	}
}

func chiSquare(bins []int, n int) (sum float64) {
	want := float64(n) / float64(len(bins))
	for _, count := range bins {
		sum += (float64(count) - want) * (float64(count) - want) / want
	}
	return sum
}

// chiSquareBound returns the value that chi-square of the given degrees of freedom
// exceeds with a chance of about 1e-7 (Wilson, Hilferty, 1931: 5.2 standard deviations).
func chiSquareBound(freedom float64) float64 {
	a := 2 / (9 * freedom)
	return freedom * math.Pow(1-a+5.2*math.Sqrt(a), 3)
}

func TestStablePanics(t *testing.T) {
	line, good := make([]layout.Line, 1), StableParams{StableSBF, 2, 5, 0}
	call := func(lines []layout.Line, words, digests int, p StableParams) func() {
		return func() {
			TestAndSetStable(lines, make([]uint64, words), make([]digest.Digest, digests), 1, p, &StableCounts{})
		}
	}
	call(line, 1, 64, good)()
	call(line, 0, 0, StableParams{StableRLBSBF, layout.MaxStableParts, 0, 0})()
	for name, f := range map[string]func(){
		"no lines":   call(nil, 1, 1, good),
		"short seen": call(line, 1, 65, good),
		"no parts":   call(line, 1, 1, StableParams{StableBSBF, 0, 0, 0}),
		"5 parts":    call(line, 1, 1, StableParams{StableBSBF, 5, 0, 0}),
		"no run":     call(line, 1, 1, StableParams{StableSBF, 2, 0, 0}),
		"long run":   call(line, 1, 1, StableParams{StableSBF, 2, 65, 0}),
		"method":     call(line, 1, 1, StableParams{stableMethods, 2, 5, 0}),
	} {
		t.Run(name, func(t *testing.T) {
			kerneltest.Panics(t, "", f)
		})
	}
}

func TestStableDoesNotAllocate(t *testing.T) {
	kerneltest.ForEveryLevel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(41, 42))
		lines, digests := make([]layout.Line, 100), bloomDigests(rng, 1000)
		seen, counts := make([]uint64, 16), StableCounts{}
		for _, p := range stableShapes {
			run := func() { TestAndSetStable(lines, seen, digests, 1, p, &counts) }
			if n := testing.AllocsPerRun(2, run); n != 0 {
				t.Errorf("%+v: %v allocations", p, n)
			}
		}
	})
}

// stableModel is the filter as its description reads: one big set of bits, and
// arithmetic without tricks.
type stableModel struct {
	StableParams
	lines int
	set   map[[2]uint64]bool // line and bit of the line
}

// share returns floor(a*b/2^64).
func share(a, b uint64) uint64 {
	product := new(big.Int).Mul(new(big.Int).SetUint64(a), new(big.Int).SetUint64(b))
	return product.Rsh(product, 64).Uint64()
}

func (m *stableModel) size() uint64 { return uint64(512 / m.K) }

// choose returns the bit of each part that a word chooses.
func (m *stableModel) choose(word uint64) (chosen []uint64) {
	for j := range uint64(m.K) {
		h := word >> (16 * j) % (1 << 16)
		chosen = append(chosen, j*m.size()+h*m.size()/(1<<16))
	}
	return chosen
}

// cleared returns the bits that an element clears if it is inserted.
func (m *stableModel) cleared(line, r1, r2 uint64) (cleared []uint64) {
	switch m.Method {
	case StableSBF:
		for i := range uint64(m.P) {
			cleared = append(cleared, (r1/(1<<55)+i)%512)
		}
	case StableBSBFSD:
		cleared = []uint64{share(r1, m.size()*uint64(m.K))}
	case StableRSBF, StableBSBF:
		cleared = m.choose(r1)
	case StableRLBSBF:
		gates := m.choose(r2)
		for j, bit := range m.choose(r1) {
			if m.set[[2]uint64{line, gates[j]}] {
				cleared = append(cleared, bit)
			}
		}
	}
	return cleared
}

func (m *stableModel) testAndSet(d digest.Digest, position uint64) (isSeen bool) {
	line := share(d[1], uint64(m.lines))
	isSeen = true
	for _, bit := range m.choose(d[0]) {
		isSeen = isSeen && m.set[[2]uint64{line, bit}]
	}
	r1 := prng(d[0], position)
	r2 := prngNext(r1)
	if m.Method == StableRSBF && m.Replace != 0 && position >= m.Replace {
		if !isSeen {
			m.replace(line, d[0], r1)
		}
		return isSeen
	}
	inserted := !isSeen
	if m.Method == StableRSBF {
		inserted = share(r2, position) < uint64(m.lines)*m.size()
	}
	if inserted {
		for _, bit := range m.cleared(line, r1, r2) {
			delete(m.set, [2]uint64{line, bit})
		}
		for _, bit := range m.choose(d[0]) {
			m.set[[2]uint64{line, bit}] = true
		}
	}
	return isSeen
}

// replace sets the bits of an element that are clear, and clears as many of their parts.
func (m *stableModel) replace(line, low, r1 uint64) {
	for j, bit := range m.choose(low) {
		if m.set[[2]uint64{line, bit}] {
			continue
		}
		var ones []uint64
		for i := range m.size() {
			if at := uint64(j)*m.size() + i; m.set[[2]uint64{line, at}] {
				ones = append(ones, at)
			}
		}
		if h := r1 >> (16 * j) % (1 << 16); len(ones) > 0 {
			delete(m.set, [2]uint64{line, ones[h*uint64(len(ones))/(1<<16)]})
		}
		m.set[[2]uint64{line, bit}] = true
	}
}

func (m *stableModel) compare(t *testing.T, filter []layout.Line, c StableCounts) {
	t.Helper()
	if c.Ones != uint64(len(m.set)) {
		t.Errorf("%d bits counted, %d are set", c.Ones, len(m.set))
	}
	for line := range filter {
		for bit := range uint64(512) {
			got := filter[line][bit/64]>>(bit%64)&1 != 0
			if want := m.set[[2]uint64{uint64(line), bit}]; got != want {
				t.Fatalf("line %d bit %d is %v, want %v", line, bit, got, want)
			}
		}
	}
}

// TestStableModel also shows that verdicts do not depend on how a stream is cut
// into calls.
func TestStableModel(t *testing.T) {
	kerneltest.ForEveryLevel(t, func(t *testing.T) {
		for _, p := range stableShapes {
			for _, lines := range []int{1, 3} {
				t.Run(fmt.Sprintf("%+v/lines=%d", p, lines), func(t *testing.T) {
					streamStable(t, p, lines)
				})
			}
		}
	})
}

func streamStable(t *testing.T, p StableParams, lines int) {
	rng := rand.New(rand.NewPCG(uint64(lines), 5))
	filter, counts := make([]layout.Line, lines), StableCounts{}
	model := &stableModel{StableParams: p, lines: lines, set: map[[2]uint64]bool{}}
	digests := bloomDigests(rng, 1000)
	stream := modelTest{
		name: p, n: len(digests), batch: func(int) int { return rng.IntN(200) },
		kernel: func(from, to int, seen []uint64) {
			TestAndSetStable(filter, seen, digests[from:to], uint64(from+1), p, &counts)
		},
		model: func(i int) bool { return model.testAndSet(digests[i], uint64(i+1)) },
	}
	stream.run(t)
	model.compare(t, filter, counts)
}
