package bench

import (
	"math"
	"math/rand/v2"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/asm/line"
	"github.com/flowdedup/flowdedup/engine/paper"
)

// accuracyStream is a stream of numbered elements and the truth about it.
type accuracyStream struct {
	name     string
	digests  []digest.Digest
	isCopy   []bool
	distinct int
}

// nextElement returns the number of an element that comes after earlier ones.
type nextElement func(rng *rand.Rand, earlier []uint64) uint64

func newAccuracyStream(name string, n int, next nextElement) *accuracyStream {
	rng := rand.New(rand.NewPCG(61, 62))
	s := &accuracyStream{name: name}
	elements, first := make([]uint64, 0, n), make(map[uint64]int, n)
	for i := range n {
		element := next(rng, elements)
		at, known := first[element]
		d := digest.Digest{rng.Uint64(), rng.Uint64()}
		if known {
			d = s.digests[at]
		} else {
			first[element] = i
		}
		elements = append(elements, element)
		s.digests, s.isCopy = append(s.digests, d), append(s.isCopy, known)
	}
	s.distinct = len(first)
	return s
}

// accuracyStreams are those that one-line layouts are judged by: elements drawn
// uniformly, so that new ones are 15 % and 60 % of the stream; Zipf's law of
// exponent 1 over 2^24 elements; and bursts, where copies come mostly soon.
func accuracyStreams(n int) []*accuracyStream {
	return []*accuracyStream{
		newAccuracyStream("uniform15", n, uniformElements(0.1502, n)),
		newAccuracyStream("uniform60", n, uniformElements(0.8870, n)),
		newAccuracyStream("zipf", n, zipfElement),
		newAccuracyStream("bursts", n, burstElement),
	}
}

// uniformElements draws from u*n elements. In a stream of n about u (1 - exp(-1/u)) n
// are different: 15 % of them for u = 0.1502, 60 % for 0.8870.
func uniformElements(u float64, n int) nextElement {
	of := uint64(u * float64(n))
	return func(rng *rand.Rand, _ []uint64) uint64 { return rng.Uint64N(of) }
}

// zipfElement draws element i with probability ln((i+1)/i) / ln(2^24), nearly 1/i of
// a constant.
func zipfElement(rng *rand.Rand, _ []uint64) uint64 {
	return uint64(math.Exp(rng.Float64() * 24 * math.Ln2))
}

// burstElement draws a new element in 45 % of cases, else the one that came at a
// distance whose logarithm is uniform.
func burstElement(rng *rand.Rand, earlier []uint64) uint64 {
	i := len(earlier)
	if i == 0 || rng.Float64() < 0.45 {
		return uint64(i)
	}
	return earlier[i-int(math.Exp(rng.Float64()*math.Log(float64(i))))]
}

// lines returns how many lines make a load.
func (s *accuracyStream) lines(load float64) int {
	return int(math.Round(load * 10 * float64(s.distinct) / 512))
}

// errorCounts counts new elements taken for seen, and copies not seen.
type errorCounts struct {
	falsePositives, misses int
}

func (s *accuracyStream) errors(isSeen func(i int) bool) (e errorCounts) {
	for i, isCopy := range s.isCopy {
		switch seen := isSeen(i); {
		case seen && !isCopy:
			e.falsePositives++
		case !seen && isCopy:
			e.misses++
		}
	}
	return e
}

func (s *accuracyStream) referenceErrors(f paper.Filter) errorCounts {
	return s.errors(func(i int) bool { return f.TestAndSet(s.digests[i]) })
}

func (s *accuracyStream) lineErrors(lines int, p line.StableParams) errorCounts {
	seen := make([]uint64, (len(s.digests)+63)/64)
	var counts line.StableCounts
	line.TestAndSetStable(make([][8]uint64, lines), seen, s.digests, 1, nil, p, &counts)
	return s.errors(func(i int) bool { return seen[i/64]>>(i%64)&1 != 0 })
}

// sparing is the stable Bloom filter with cells of one bit over one array, in the
// reading of bit lines: an element that is seen clears nothing. Elements of
// [paper.Stable] always clear.
type sparing struct {
	cells  []bool
	k, p   int
	random *rand.Rand
}

func sparingStable(k, p int) func(bits int) (paper.Filter, error) {
	return func(bits int) (paper.Filter, error) {
		return &sparing{make([]bool, bits), k, p, rand.New(rand.NewPCG(71, 72))}, nil
	}
}

// TestAndSet implements paper.Filter.
func (f *sparing) TestAndSet(d digest.Digest) (seen bool) {
	hash := rand.NewPCG(d[0], d[1])
	own := make([]uint64, f.k)
	seen = true
	for j := range own {
		own[j] = hash.Uint64() % uint64(len(f.cells))
		seen = seen && f.cells[own[j]]
	}
	if seen {
		return true
	}
	from := f.random.IntN(len(f.cells))
	for i := range f.p {
		f.cells[(from+i)%len(f.cells)] = false
	}
	for _, i := range own {
		f.cells[i] = true
	}
	return false
}

// Bits implements paper.Filter.
func (f *sparing) Bits() int { return len(f.cells) }
