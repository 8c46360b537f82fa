// SPDX-License-Identifier: Apache-2.0

package distinct

import (
	"io"
	"math"
	"math/bits"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/asm/line"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/internal/bitset"
	"github.com/flowdedup/flowdedup/engine/internal/rowtable"
	"github.com/flowdedup/flowdedup/engine/snapshot"
	"github.com/flowdedup/flowdedup/layout"
)

// minDigestLines is the smallest start of DigestRows: 64 KiB for 5120 digests before it
// grows.
const minDigestLines = 1024

// digestLoad is the average number of digests in a line, out of 8, at which lines double.
const digestLoad = 5

// DigestRows remembers digests by 64 of their 128 bits. A digest costs one cache line.
// The counter never forgets. The probability that it takes a new digest for one of n
// known digests is n / 2^64: one in 1.8e10 at a billion.
//
// The top bits of a digest's low half choose its line, which stores the whole half
// (line.TestAndSetExact64). Lines double when five of their eight cells are taken on
// average: one more bit of the stored half splits each line in two, and nothing is hashed
// again. The work is spread over the elements that follow, 512 lines every 512 elements,
// and lines that moved return their memory at once. At that load 2.4 % of the digests
// find eight cells taken (the excess of a Poisson variable). These go to small hash
// tables. So a digest takes 13 to 26 bytes. Where Limit allows no more, a sample is
// counted.
//
// Digests must be keyed. An adversary who can choose them can aim at one line. Then
// verdicts stay right, but a digest may take more than constant time.
type DigestRows struct {
	exactRows[digest.Digest, uint64]
}

var _ engine.Counter[digest.Digest] = (*DigestRows)(nil)

var digestRowsKind = exactKind[digest.Digest, uint64]{
	name: "digest rows", method: "digest-rows", width: 64,
	testAndSet: line.TestAndSetExact64, move: line.SplitDigestRows, overwrites: true, thin: line.SampleDigestRows,
	word: digestWord, words: digestWords,
	element: func(y uint64) digest.Digest { return digest.Digest{y} },
	growAt:  func(lines int) uint64 { return uint64(lines) * digestLoad },
	cells:   func(int) int { return 8 },
}

// NewDigestRows returns an empty counter. memory is the initial size of the rows, in
// bytes, rounded down to a power of two from 64 KiB on. 0 stands for 64 KiB. It returns
// the error of layout.NewArena.
func NewDigestRows(memory int) (*DigestRows, error) {
	lines := max(memory/layout.LineSize, minDigestLines)
	r := new(DigestRows)
	first := 1 << (bits.Len(uint(lines)) - 1)
	if err := r.start(&digestRowsKind, first, math.MaxInt, layout.Golden); err != nil {
		return nil, err
	}
	return r, nil
}

// Reset makes the counter as NewDigestRows(0) returns it: see IPv4Rows.Reset.
func (r *DigestRows) Reset() bool { return r.reset(minDigestLines) }

// TestAndSet is as engine.Counter says. It allocates only when the rows grow.
func (r *DigestRows) TestAndSet(seen []uint64, d []digest.Digest) {
	bitset.Clear(seen, len(d))
	r.unsampled = 0
	for at := 0; at < len(d); {
		n := r.untilDecision(len(d) - at)
		r.step(seen, at, d[at:at+n])
		at += n
	}
}

// Counts is as engine.Counter says. The estimate adds the digests that were taken for
// known digests, n^2 / 2^65 out of n on average: one at 6e9.
func (r *DigestRows) Counts() engine.Counts {
	rate := math.Ldexp(float64(r.held), -64)
	c := r.counts(r.sum().Mean * rate / 2)
	c.FPR = rate
	return c
}

// Snapshot writes all digests of the counter, for RestoreDigestRows. secret is the one
// that the digests were made under. Other arguments and errors are as in IPv4Rows.Snapshot.
func (r *DigestRows) Snapshot(w io.Writer, secret engine.Secret, label string) error {
	r.rows.Table.Arena.CheckOpen("distinct: DigestRows.Snapshot")
	s, overflow := r.save()
	out := snapshot.NewWriter(w, snapshot.DigestRows, secret, label, s.fields())
	r.rows.Save(out, overflow)
	return out.End()
}

// RestoreDigestRows reads the counter that DigestRows.Snapshot wrote, and nothing behind
// it. It returns the errors of RestoreIPv4Rows. c bounds the counter's present size, not
// its growth.
func RestoreDigestRows(r io.Reader, c snapshot.RestoreConfig) (*DigestRows, error) {
	var s savedExact
	load := func(d *DigestRows, in *snapshot.Reader) error { return d.load(in, &s) }
	return snapshot.Restore(r, snapshot.DigestRows, c, s.fields(), s.digestRows, load)
}

// digestRows makes the counter that was saved, without elements.
func (s *savedExact) digestRows(c snapshot.RestoreConfig) (*DigestRows, error) {
	if err := s.check(minDigestLines, rowtable.MaxLines, 0); err != nil {
		return nil, err
	}
	if err := s.rows.Allow(c); err != nil {
		return nil, err
	}
	return NewDigestRows(0)
}
