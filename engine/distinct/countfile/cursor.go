// SPDX-License-Identifier: Apache-2.0

package countfile

import (
	"context"
	"math"

	"github.com/flowdedup/flowdedup/engine/distinct/internal/wordset"
)

// cursor goes through the words of a set. Its key is the current word, less one if words
// have 64 bits: no such word is 0. exhausted is no key.
type cursor struct {
	key    uint64
	sensor int

	series *Series
	at     int64 // the next record
	left   uint64
	last   uint64 // last word of the block before
	blocks int
	buf    []byte
	block  []uint64 // block of the key
	words  []uint64 // words of the block after the key
}

const exhausted = math.MaxUint64

func newCursor(sensor int, s *Series) *cursor {
	return &cursor{sensor: sensor, series: s, at: s.offset, left: s.count}
}

// next moves to the next word. It returns errors of reading.
func (c *cursor) next(ctx context.Context) error {
	if len(c.words) == 0 {
		if c.left == 0 {
			c.key = exhausted
			return c.end()
		}
		if err := c.load(ctx); err != nil {
			return err
		}
	}
	c.key, c.words = c.words[0]-c.series.least(), c.words[1:]
	return nil
}

// least returns the smallest word of a set.
func (s *Series) least() uint64 {
	if s.width == 64 {
		return 1
	}
	return 0
}

// load reads the next block.
func (c *cursor) load(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s, f := c.series, c.series.file
	if c.at == s.offset+s.Bytes {
		return f.invalid(c.at, "a set with too few words")
	}
	content, err := f.content(c.buf, c.at)
	if err != nil {
		return err
	}
	c.buf = content[:0]
	if c.block, err = wordset.Block(c.block[:0], content); err != nil {
		return f.invalid(c.at, "%v", err)
	}
	c.words = c.block
	first, last := c.words[0], c.words[len(c.words)-1]
	if c.blocks > 0 && first <= c.last || first < s.least() || s.width == 32 && last > math.MaxUint32 || uint64(len(c.words)) > c.left {
		return f.invalid(c.at, "words out of order, or too many")
	}
	c.blocks++
	c.last = last
	c.left -= uint64(len(c.words))
	c.at += int64(recordHead + len(content) + recordTail)
	return nil
}

// end checks that no block is left.
func (c *cursor) end() error {
	if s := c.series; c.at != s.offset+s.Bytes && s.count > 0 {
		return s.file.invalid(c.at, "a set with too many words")
	}
	return nil
}

// tournament finds the cursor with the smallest key: a tree of losers (Knuth, The Art of
// Computer Programming 3, Section 5.4.1). A step takes one comparison for each level.
type tournament struct {
	cursors []*cursor
	losers  []int32 // of node i, whose children are 2i and 2i+1; leaf i is node i+len
	winner  int32
}

// newTournament takes at least one cursor, each at its first key.
func newTournament(cursors []*cursor) *tournament {
	n := len(cursors)
	t := &tournament{cursors: cursors, losers: make([]int32, n)}
	winners := make([]int32, 2*n)
	for i := range cursors {
		winners[n+i] = int32(i)
	}
	for node := n - 1; node >= 1; node-- {
		a, b := winners[2*node], winners[2*node+1]
		if cursors[b].key < cursors[a].key {
			a, b = b, a
		}
		winners[node], t.losers[node] = a, b
	}
	t.winner = winners[1]
	return t
}

// replay finds the winner after the key of the winner has changed.
func (t *tournament) replay() {
	winner := t.winner
	key := t.cursors[winner].key
	for node := (int(winner) + len(t.cursors)) / 2; node >= 1; node /= 2 {
		loser := t.losers[node]
		if k := t.cursors[loser].key; k < key {
			t.losers[node], winner, key = winner, loser, k
		}
	}
	t.winner = winner
}
