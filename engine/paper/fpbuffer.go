package paper

import (
	"github.com/flowdedup/flowdedup/asm/digest"
	"math/rand/v2"
)

// FPBuffer is the FPbuffering method of paper "Approximately Detecting Duplicates
// for Streaming Data using Stable Bloom Filters" (Deng, Rafiei, SIGMOD 2006),
// section 5.2 ("FPbuffering Implementation"): buffering ([LRU]) that reports an
// element which it did not find as a duplicate with probability q. It trades
// misses for false positives, so that buffering can be compared with filters
// that have both, at an equal false positive rate.
//
// Reading taken: what chance reports as a duplicate is put into the buffer like
// any other element. So the false positive rate is q, and the false negative rate
// (1-q) times that of the buffer, as in the paper's Table 2.
type FPBuffer struct {
	buffer *LRU
	q      float64
	random *rand.Rand
}

var _ Filter = (*FPBuffer)(nil)

// NewFPBuffer returns an empty buffer as [NewLRU] does. q is from 0 to below 1;
// errors wrap [ErrParameter].
func NewFPBuffer(bits, elementBits int, q float64, seed uint64) (*FPBuffer, error) {
	if err := requireShare("q", q); err != nil {
		return nil, err
	}
	buffer, err := NewLRU(bits, elementBits)
	if err != nil {
		return nil, err
	}
	return &FPBuffer{buffer: buffer, q: q, random: newRandom(seed)}, nil
}

// TestAndSet implements [Filter].
func (f *FPBuffer) TestAndSet(d digest.Digest) (seen bool) {
	return f.buffer.TestAndSet(d) || f.random.Float64() < f.q
}

// Bits implements [Filter].
func (f *FPBuffer) Bits() int { return f.buffer.Bits() }
