package paper

import "github.com/flowdedup/flowdedup/asm/digest"

// QQHTD is the queued quotient hash table with duplicates of paper "Quotient Hash
// Tables - Efficiently Detecting Duplicates in Streaming Data" (Géraud,
// Lombard-Platet, Naccache, SAC 2019), section 5.2, Algorithm 2: each row is a queue
// of its k latest fingerprints, to which every element is appended, those reported
// duplicate too. With k = 1 it reports what a [QHT] reports.
//
// In saturation its error rates are those of [QHTD].
//
// Reading taken: a row that is not full yet is a queue with empty cells at its
// front, as Algorithm 2 always pops one and appends one.
type QQHTD struct {
	table        quotientTable
	fingerprints fingerprints
}

var _ Filter = (*QQHTD)(nil)

// NewQQHTD returns an empty table. It makes no random choice, so c.Seed is
// without effect. Errors wrap [ErrParameter].
func NewQQHTD(c QHTConfig) (*QQHTD, error) {
	table, fingerprints, err := c.table()
	if err != nil {
		return nil, err
	}
	return &QQHTD{table: table, fingerprints: fingerprints}, nil
}

// TestAndSet implements [Filter].
func (q *QQHTD) TestAndSet(d digest.Digest) (seen bool) {
	row, fingerprint := q.table.row(d[1]), q.fingerprints.of(d[0])
	_, seen = q.table.find(row, fingerprint)
	q.table.push(row, fingerprint)
	return seen
}

// Bits implements [Filter]: the memory of whole rows.
func (q *QQHTD) Bits() int { return q.table.bits() }
