package monitor

import (
	"slices"
	"strings"
	"time"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/live"
)

// board is what the view and the page show of a status, in words.
type board struct {
	Interfaces string
	Time       string
	Up         string
	Panels     []panel
}

// panel is a small table. Its first column names the rows.
type panel struct {
	Columns []column
	Rows    [][]cell
	Hidden  int // rows that were left out
	Least   int // rows that must not be

	Chart  string      // what Series shows, "" for nothing
	Series [][]float64 // of the first rows, over time
}

// column is the heading of a column.
type column struct {
	Name string
	Left bool // its cells are text, not numbers
}

// cell is one field of a panel.
type cell struct {
	Text  string
	Mood  mood
	Bar   bool    // Share is drawn before Text
	Share float64 // 0 to 1
}

// mood is how a cell wants to be looked at.
type mood uint8

const (
	plain mood = iota
	faint
	warn
	bad
)

// String is the name of the mood's style on the page.
func (m mood) String() string { return [...]string{"plain", "faint", "warn", "bad"}[m] }

// words is a cell of text.
func words(s string) cell { return cell{Text: s} }

// number is a cell of a count.
func number(n uint64) cell { return cell{Text: count(n)} }

// alarm is a cell of a count that should be 0.
func alarm(n uint64, m mood) cell {
	if n == 0 {
		m = plain
	}
	return cell{Text: count(n), Mood: m}
}

// row makes the first cell of a row its name.
func row(name string, cells ...cell) []cell {
	return append([]cell{{Text: clean(name)}}, cells...)
}

// describe puts the last status of a history into words. It returns an empty board
// before the first.
func describe(h *history) *board {
	s := h.last
	if s == nil {
		return &board{}
	}
	b := &board{Interfaces: interfaces(s)}
	if !s.Now.IsZero() {
		b.Time = s.Now.UTC().Format("2006-01-02 15:04:05Z")
	}
	if !s.Started.IsZero() {
		b.Up = "up " + spell(age(s.Started, s.Now))
	}
	b.Panels = append(b.Panels, ratesOf(h))
	for _, of := range []func(*live.Status) panel{filterOf, ringsOf, outputsOf, distinctOf, diffsOf} {
		if p := of(s); len(p.Rows) > 0 {
			b.Panels = append(b.Panels, p)
		}
	}
	return b
}

// interfaces names each interface once.
func interfaces(s *live.Status) string {
	var names []string
	for i := range s.Rings {
		if name := clean(s.Rings[i].Interface); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// clock writes the time of day that a window began at, and the date where it is
// another than now's.
func clock(t, now time.Time) string {
	t, now = t.UTC(), now.UTC()
	layout := "15:04Z"
	if t.Second() != 0 {
		layout = "15:04:05Z"
	}
	if t.YearDay() != now.YearDay() || t.Year() != now.Year() {
		layout = "2006-01-02 " + layout
	}
	return t.Format(layout)
}
