// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine/paper"
	"github.com/flowdedup/flowdedup/engine/stream"
	"github.com/flowdedup/flowdedup/layout"
)

// Source gives the next elements of a stream: their digests, and which came before. Both
// slices have the same length.
type Source func(digests []digest.Digest, known []bool)

// aheadSize is the number of elements that are drawn before the first one is looked up, so
// that many lookups wait for memory at once.
const aheadSize = 256

// Source gives the elements, which are below n of 2^40. The elements of each run have
// their own digests.
func (e Elements) Source(n int, run uint64) Source {
	came, ahead := NewKnown(n), make([]uint64, aheadSize)
	return func(digests []digest.Digest, known []bool) {
		for len(digests) > 0 {
			elements := ahead[:min(aheadSize, len(digests))]
			for i := range elements {
				elements[i] = e()
				digests[i] = Digest(run<<40 | elements[i])
			}
			for i, element := range elements {
				known[i] = came.Add(element)
			}
			digests, known = digests[len(elements):], known[len(elements):]
		}
	}
}

// Distinct gives different elements, from first on.
func Distinct(first uint64) Source {
	return func(digests []digest.Digest, known []bool) {
		for i := range digests {
			digests[i] = Digest(first)
			first++
		}
		clear(known)
	}
}

// batchSize is the number of elements that go through one filter before the next: enough
// for a scaled filter to stay in the last-level cache for most of its batch. With a few
// thousand, the filters would evict each other every time.
const batchSize = 1 << 18

// Scores gives n elements to all filters in a single pass, since making them and the truth
// costs as much as a filter does. It returns the filters' errors.
func (s Source) Scores(n int, filters ...paper.Filter) []Score {
	scores, size := make([]Score, len(filters)), min(n, batchSize)
	digests, known, seen := make([]digest.Digest, size), make([]bool, size), make([]bool, size)
	for ; n > 0; n -= size {
		size = min(n, size)
		s(digests[:size], known[:size])
		for i, f := range filters {
			paper.TestAndSetAll(f, digests[:size], seen)
			scores[i].count(known[:size], seen)
		}
	}
	return scores
}

// Score compares a filter's verdicts with the truth.
type Score struct {
	Distinct       int // first occurrences
	FalsePositives int // of these, reported as seen before
	Duplicates     int // later occurrences
	FalseNegatives int // of these, reported as new
}

// Add counts one verdict. known is the truth: the element came before.
func (s *Score) Add(known, seen bool) {
	switch {
	case known:
		s.Duplicates++
		if !seen {
			s.FalseNegatives++
		}
	default:
		s.Distinct++
		if seen {
			s.FalsePositives++
		}
	}
}

// count adds a verdict for each truth. Rates of a half would make every branch of Add a
// guess, so there are none.
func (s *Score) count(known, seen []bool) {
	var of [2][2]int // verdicts by truth and report
	for i, known := range known {
		of[index(known)][index(seen[i])]++
	}
	s.Sum(Score{Distinct: of[0][0] + of[0][1], FalsePositives: of[0][1], Duplicates: of[1][0] + of[1][1], FalseNegatives: of[1][0]})
}

// index returns 1 for true, without a branch.
func index(b bool) (i int) {
	if b {
		i = 1
	}
	return i
}

// Sum adds the counts of another run.
func (s *Score) Sum(run Score) {
	s.Distinct += run.Distinct
	s.FalsePositives += run.FalsePositives
	s.Duplicates += run.Duplicates
	s.FalseNegatives += run.FalseNegatives
}

// FPR returns FalsePositives / Distinct, 0 if there are none.
func (s Score) FPR() float64 { return share(s.FalsePositives, s.Distinct) }

// FNR returns FalseNegatives / Duplicates, 0 if there are none.
func (s Score) FNR() float64 { return share(s.FalseNegatives, s.Duplicates) }

func share(part, of int) float64 {
	if of == 0 {
		return 0
	}
	return float64(part) / float64(of)
}

// Known remembers exactly which elements came, one bit each.
type Known []uint64

// NewKnown returns an empty set of elements below n.
func NewKnown(n int) Known {
	k := make(Known, (n+63)/64)
	layout.AdviseHuge(k)
	return k
}

// Has reports whether the element came before.
func (k Known) Has(element uint64) bool { return k[element/64]>>(element%64)&1 != 0 }

// Add reports it, and adds the element.
func (k Known) Add(element uint64) (known bool) {
	known = k.Has(element)
	k[element/64] |= 1 << (element % 64)
	return known
}

// Engine is a filter of unbounded streams of package engine, element by element.
type Engine struct {
	filter *stream.Filter
	bits   int
	seen   [1]uint64
	digest [1]digest.Digest
}

// NewEngine returns an empty filter.
func NewEngine(c stream.Config) (*Engine, error) {
	f, err := stream.New(c)
	return &Engine{filter: f, bits: 8 * c.Memory / 512 * 512}, err
}

// TestAndSet reports whether the element was seen before, and remembers it.
func (e *Engine) TestAndSet(d digest.Digest) (seen bool) {
	e.digest[0] = d
	e.filter.TestAndSet(e.seen[:], e.digest[:])
	return e.seen[0] != 0
}

// Bits returns the memory of the lines, without the tables of its workers.
func (e *Engine) Bits() int { return e.bits }

// Close frees the memory, which Go's collector does not manage.
func (e *Engine) Close() error { return e.filter.Close() }

// Close closes a filter whose memory Go's collector does not manage, such as [Engine].
func Close(f any) error {
	if c, ok := f.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// Counts is a file of the rows of printed size that were made so far. A row takes up to
// hours, and a table is made of some. The zero one has no file.
type Counts struct {
	// Code names the code that makes the rows of this run: the commit of the program.
	Code string

	file  string
	found int // rows of earlier runs

	interrupted atomic.Bool
	mu          sync.Mutex   // guards the following fields
	rows        []CountedRow // of all tables
	failed      error
}

// CountedRow are the scores of one memory size, of the methods in order.
type CountedRow struct {
	Table     string  `json:"table"`
	Megabytes int     `json:"megabytes"`
	Scores    []Score `json:"scores"`
	Seconds   float64 `json:"seconds"`
	Code      string  `json:"code,omitempty"` // see [Counts]; rows of the first runs have none
}

// OpenCounts reads a file, if it exists.
func OpenCounts(file string) (*Counts, error) {
	c := &Counts{file: file}
	text, err := os.ReadFile(c.file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return c, nil
	case err == nil:
		err = json.Unmarshal(text, &c.rows)
	}
	c.found = len(c.rows)
	return c, err
}

// Find returns the scores of a memory size, or nil.
func (c *Counts) Find(table string, megabytes int) []Score {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.rows {
		if r.Table == table && r.Megabytes == megabytes {
			return r.Scores
		}
	}
	return nil
}

// Add writes a row to the file.
func (c *Counts) Add(r CountedRow) {
	if c.file == "" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	r.Code = c.Code
	c.rows = append(c.rows, r)
	text, err := json.MarshalIndent(c.rows, "", " ")
	if err == nil {
		err = os.WriteFile(c.file, append(text, '\n'), 0o644)
	}
	c.failed = errors.Join(c.failed, err)
}

// Err returns the error of writing the file.
func (c *Counts) Err() error { return c.failed }

// Interrupt ends the making of rows. It reports whether a table has some.
func (c *Counts) Interrupt(table string) (some bool) {
	c.interrupted.Store(true)
	return len(c.Notes(table)) > 0
}

// Interrupted reports whether no more rows are to be made.
func (c *Counts) Interrupted() bool { return c.interrupted.Load() }

// Notes returns the time of a table's rows, and the code that made the rows of earlier
// runs.
func (c *Counts) Notes(table string) (notes []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, r := range c.rows {
		if r.Table != table {
			continue
		}
		note := fmt.Sprintf("%d MB took %.0f s", r.Megabytes, r.Seconds)
		if i < c.found {
			note += fmt.Sprintf(" in an earlier run, whose counts are kept; its code: %s", cmp.Or(r.Code, "not noted"))
		}
		notes = append(notes, note+".")
	}
	return notes
}

// Earlier returns the time in seconds of a table's rows that earlier runs made.
func (c *Counts) Earlier(table string) (seconds float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.rows[:c.found] {
		if r.Table == table {
			seconds += r.Seconds
		}
	}
	return seconds
}
