package biased

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/flowdedup/flowdedup/bench/papers/internal/result"
	"github.com/flowdedup/flowdedup/bench/papers/internal/stream"
)

// counts is a file of the rows of printed size that were made so far. A row takes up to
// hours, and a table is made of some.
type counts struct {
	file  string // "" for none
	table string

	mu    sync.Mutex
	rows  []countedRow // of all tables
	found int          // of these, those of earlier runs
}

// countedRow are the scores of one memory size, of the methods in order.
type countedRow struct {
	Table     string         `json:"table"`
	Megabytes int            `json:"megabytes"`
	Scores    []stream.Score `json:"scores"`
	Seconds   float64        `json:"seconds"`
}

// openCounts reads the file that is asked for, if it exists, for runs at the printed sizes.
func openCounts(o result.Options, t table) (*counts, error) {
	c := &counts{table: t.name}
	if !o.Full || o.Counts == "" {
		return c, nil
	}
	c.file = o.Counts
	text, err := os.ReadFile(c.file)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &c.rows); err != nil {
		return nil, fmt.Errorf("%s: %w", c.file, err)
	}
	c.found = len(c.rows)
	return c, nil
}

// find returns the scores of a memory size, or nil.
func (c *counts) find(megabytes int) []stream.Score {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.rows, func(r countedRow) bool { return r.Table == c.table && r.Megabytes == megabytes })
	if i < 0 {
		return nil
	}
	return c.rows[i].Scores
}

// add writes a row to the file.
func (c *counts) add(megabytes int, scores []stream.Score, took time.Duration) error {
	if c.file == "" {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rows = append(c.rows, countedRow{c.table, megabytes, scores, took.Seconds()})
	text, err := json.MarshalIndent(c.rows, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(c.file, append(text, '\n'), 0o644)
}

// notes says what the rows took.
func (c *counts) notes() []string {
	var notes []string
	for i, r := range c.rows {
		if r.Table == c.table {
			when := map[bool]string{true: " in an earlier run, whose counts are kept"}[i < c.found]
			notes = append(notes, fmt.Sprintf("%d MB took %.0f s%s.", r.Megabytes, r.Seconds, when))
		}
	}
	return notes
}
