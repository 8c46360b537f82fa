//go:build amd64 && !purego

package asm

import "math/bits"

func testAndSetTimed(lines [][8]uint64, seen []uint64, digests []Digest, ticks []int64, points []uint32, p *TimedParams, c *TimedCounts) {
	if level < levelAVX512 || len(digests) == 0 {
		testAndSetTimedGeneric(lines, seen, digests, ticks, points, p, c)
		return
	}
	r := newTimedRow(p)
	var at *uint32
	if points != nil {
		at = &points[0]
	}
	for from := 0; ; from++ {
		from = testAndSetTimedAVX512(&lines[0], len(lines), &seen[0], &digests[0], &ticks[0], at, from, len(digests), &r, c)
		if from == len(digests) {
			return
		}
		if r.one(lines, &digests[from], ticks[from], points, from, c) {
			seen[from/64] |= 1 << (from % 64)
		}
	}
}

// one takes element i in plain Go.
func (r *timedRow) one(lines [][8]uint64, d *Digest, t int64, points []uint32, i int, c *TimedCounts) (isCopy bool) {
	at, _ := bits.Mul64(d[1], uint64(len(lines)))
	fp, mark := r.fields(d[0], t, points, i)
	return r.testAndSet(&lines[at], fp, mark, c)
}

// testAndSetTimedAVX512 takes the elements from from on, and stops at the first
// one that it leaves to plain Go, whose number it returns, or at n: those that are
// found and change their line. They are rare.
//
//go:noescape
func testAndSetTimedAVX512(lines *[8]uint64, count int, seen *uint64, digests *Digest, ticks *int64, points *uint32, from, n int, r *timedRow, c *TimedCounts) (next int)
