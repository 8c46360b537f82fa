package asm

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/flowdedup/flowdedup/asm/internal/kerneltest"
)

// bitLineModel is the filter as its description reads: one big set of bits, and
// arithmetic without tricks.
type bitLineModel struct {
	BitLineParams
	lines int
	set   map[[2]uint64]bool // line and bit of the line
}

// share returns floor(a*b/2^64).
func share(a, b uint64) uint64 {
	product := new(big.Int).Mul(new(big.Int).SetUint64(a), new(big.Int).SetUint64(b))
	return product.Rsh(product, 64).Uint64()
}

func (m *bitLineModel) size() uint64 { return uint64(512 / m.K) }

// choose returns the bit of each part that a word chooses.
func (m *bitLineModel) choose(word uint64) (chosen []uint64) {
	for j := range uint64(m.K) {
		h := word >> (16 * j) % (1 << 16)
		chosen = append(chosen, j*m.size()+h*m.size()/(1<<16))
	}
	return chosen
}

// cleared returns the bits that an element clears if it is inserted.
func (m *bitLineModel) cleared(line, r1, r2 uint64) (cleared []uint64) {
	switch m.Method {
	case BitsSBF:
		for i := range uint64(m.P) {
			cleared = append(cleared, (r1/(1<<55)+i)%512)
		}
	case BitsBSBFSD:
		cleared = []uint64{share(r1, m.size()*uint64(m.K))}
	case BitsRSBF, BitsBSBF:
		cleared = m.choose(r1)
	case BitsRLBSBF:
		gates := m.choose(r2)
		for j, bit := range m.choose(r1) {
			if m.set[[2]uint64{line, gates[j]}] {
				cleared = append(cleared, bit)
			}
		}
	}
	return cleared
}

func (m *bitLineModel) testAndSet(d Digest, position uint64) (isSeen bool) {
	line := share(d[1], uint64(m.lines))
	isSeen = true
	for _, bit := range m.choose(d[0]) {
		isSeen = isSeen && m.set[[2]uint64{line, bit}]
	}
	r1 := prng(d[0], position)
	r2 := prngNext(r1)
	inserted := !isSeen
	if m.Method == BitsRSBF {
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

func (m *bitLineModel) compare(t *testing.T, filter [][8]uint64, c BitLineCounts) {
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

// TestBitLineModel also shows that verdicts do not depend on how a stream is cut
// into calls.
func TestBitLineModel(t *testing.T) {
	kerneltest.ForEveryLevel(t, func(t *testing.T) {
		for _, p := range bitLineShapes {
			for _, lines := range []int{1, 3} {
				t.Run(fmt.Sprintf("%+v/lines=%d", p, lines), func(t *testing.T) {
					streamBitLines(t, p, lines)
				})
			}
		}
	})
}

func streamBitLines(t *testing.T, p BitLineParams, lines int) {
	rng := rand.New(rand.NewPCG(uint64(lines), 5))
	filter, counts := make([][8]uint64, lines), BitLineCounts{}
	model := &bitLineModel{BitLineParams: p, lines: lines, set: map[[2]uint64]bool{}}
	digests := bitsDigests(rng, 3000)
	for at := 0; at < len(digests); {
		n := min(rng.IntN(200), len(digests)-at)
		seen := make([]uint64, n/64+2)
		for i := range seen {
			seen[i] = rng.Uint64()
		}
		after := seen[(n+63)/64]
		TestAndSetBitLines(filter, seen, digests[at:at+n], uint64(at+1), nil, p, &counts)
		for i := range n {
			want := model.testAndSet(digests[at+i], uint64(at+i+1))
			if got := seen[i/64]>>(i%64)&1 != 0; got != want {
				t.Fatalf("element %d seen %v, want %v", at+i, got, want)
			}
		}
		if n%64 != 0 && seen[n/64]>>(n%64) != 0 {
			t.Fatalf("bits above element %d are left", n)
		}
		if seen[(n+63)/64] != after {
			t.Fatalf("seen is written beyond %d elements", n)
		}
		at += n
	}
	model.compare(t, filter, counts)
}
