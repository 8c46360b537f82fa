package paper

import (
	"github.com/flowdedup/flowdedup/asm/digest"
	"math/rand/v2"
)

// QHTD is the quotient hash table with duplicates of paper "Quotient Hash Tables -
// Efficiently Detecting Duplicates in Streaming Data" (Géraud, Lombard-Platet,
// Naccache, SAC 2019), section 5.1: a [QHT] that inserts every element, those
// reported duplicate too. So a row may hold a fingerprint several times.
//
// In saturation its false positive rate is 1 - (1-1/S)^k, and its false negative
// rate (1-1/S)^k (section 5.1).
//
// Reading taken: the paper prints no algorithm for this one. The insertion is that
// of Algorithm 1: into the first empty cell, or else over a random one, which may
// be the one that holds the fingerprint already.
type QHTD struct {
	table        quotientTable
	fingerprints fingerprints
	random       *rand.Rand
}

var _ Filter = (*QHTD)(nil)

// NewQHTD returns an empty table; errors wrap [ErrParameter].
func NewQHTD(c QHTConfig) (*QHTD, error) {
	table, fingerprints, err := c.table()
	if err != nil {
		return nil, err
	}
	return &QHTD{table: table, fingerprints: fingerprints, random: newRandom(c.Seed)}, nil
}

// TestAndSet implements [Filter].
func (q *QHTD) TestAndSet(d digest.Digest) (seen bool) {
	row, fingerprint := q.table.row(d[1]), q.fingerprints.of(d[0])
	_, seen = q.table.find(row, fingerprint)
	q.table.insert(row, fingerprint, q.random)
	return seen
}

// Bits implements [Filter]: the memory of whole rows.
func (q *QHTD) Bits() int { return q.table.bits() }
