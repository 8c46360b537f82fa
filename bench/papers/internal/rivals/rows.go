package rivals

import (
	"math"
	"math/bits"
	"slices"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine/paper"
)

// RowsConfig is what rows of fingerprints are made from.
type RowsConfig struct {
	Rows            int // at least 1
	RowBits         int // what a row is accounted for, at least Cells * FingerprintBits
	Cells           int // of a row, at least 1
	FingerprintBits int // from 1 to 64
}

// Rows is a table of rows of fingerprints: an element's digest chooses its row and gives
// its fingerprint, and only fingerprints of that row are compared or evicted. What is seen
// moves to the front of its row, and the last leaves a full one. So an element is
// forgotten when as many other elements of its row as the row has cells came since it was
// last seen. A full row reports new elements with chance Cells/(2^FingerprintBits-1).
//
// Such rows are this project's own; these have the shapes that the engine's do not have.
type Rows struct {
	config RowsConfig
	cells  []uint64
}

var _ paper.Filter = (*Rows)(nil)

// NewRows returns empty rows.
func NewRows(c RowsConfig) *Rows {
	return &Rows{config: c, cells: make([]uint64, c.Rows*c.Cells)}
}

// TestAndSet implements [paper.Filter], in time proportional to a row's cells.
func (r *Rows) TestAndSet(d digest.Digest) (seen bool) {
	cells := uint64(r.config.Cells)
	first := hashesOf(d, r.config.Rows).line * cells
	row, value := r.cells[first:first+cells], fingerprintOf(d, r.config.FingerprintBits)
	at := slices.Index(row, value)
	if at >= 0 {
		row = row[:at+1]
	}
	copy(row[1:], row)
	row[0] = value
	return at >= 0
}

// Bits implements [paper.Filter].
func (r *Rows) Bits() int { return r.config.Rows * r.config.RowBits }

// TimedRowsConfig is what rows of fingerprints with time stamps are made from.
type TimedRowsConfig struct {
	Rows            int   // at least 1
	RowBits         int   // what a row is accounted for, at least its cells
	Cells           int   // of a row, at least 1
	FingerprintBits int   // from 1 to 64
	StampBits       int   // from 2 to 16
	Ticks           int   // of a window at most, from 1 to 2^StampBits - 3
	Window          int64 // at least 1, in the unit of the times
}

// TimedRows is a table of rows whose cells hold a fingerprint and the tick when it was
// last seen, modulo 2^StampBits. Ages up to Ticks are within the window, so that elements
// up to one tick older (two if no whole ticks make the window) are reported too. The
// other ages that stamps can express are the time in which every row is swept once, so an
// expired cell never looks young. The length of that time does not change the answers.
//
// A full row loses what was seen least recently, by its stamp. This is the only cause of
// misses: with a mean of lambda elements of the window in a row, the chance at age a is
// P(Poisson(lambda a/Window) >= Cells).
//
// The principle is flowdedup's; window.Timed has 6 cells of 85 bits.
type TimedRows struct {
	config TimedRowsConfig
	cells  []uint64 // fingerprints, 0 is empty
	stamps []uint16
	tick   int64 // length
	ticks  int   // of the window, at most config.Ticks
	round  int64 // in which all rows are swept
	mask   uint16
	swept  int64 // rows swept so far, in all rounds
	last   int64 // the tick of the latest element
}

// NewTimedRows returns empty rows.
func NewTimedRows(c TimedRowsConfig) *TimedRows {
	tick := (c.Window-1)/int64(c.Ticks) + 1
	return &TimedRows{
		config: c,
		cells:  make([]uint64, c.Rows*c.Cells),
		stamps: make([]uint16, c.Rows*c.Cells),
		tick:   tick,
		ticks:  int((c.Window-1)/tick + 1),
		round:  tick * (1<<c.StampBits - 1 - int64(c.Ticks)),
		mask:   1<<c.StampBits - 1,
	}
}

// TestAndSet implements [Windowed].
func (t *TimedRows) TestAndSet(d digest.Digest, now int64) (seen bool) {
	tick := now / t.tick
	t.sweep(now)
	row := int(hashesOf(d, t.config.Rows).line)
	t.expire(row, tick)
	value, oldest := fingerprintOf(d, t.config.FingerprintBits), row*t.config.Cells
	for i := row * t.config.Cells; i < (row+1)*t.config.Cells; i++ {
		if t.cells[i] == value {
			t.stamps[i] = uint16(tick) & t.mask
			return true
		}
		if t.rank(i, tick) > t.rank(oldest, tick) {
			oldest = i
		}
	}
	t.cells[oldest], t.stamps[oldest] = value, uint16(tick)&t.mask
	return false
}

// rank orders cells for eviction: an empty one first, then the oldest.
func (t *TimedRows) rank(i int, tick int64) int {
	if t.cells[i] == 0 {
		return math.MaxInt
	}
	return t.age(i, tick)
}

// age returns a cell's age in ticks, modulo 2^StampBits.
func (t *TimedRows) age(i int, tick int64) int { return int((uint16(tick) - t.stamps[i]) & t.mask) }

// expire empties the cells of a row that are older than the window.
func (t *TimedRows) expire(row int, tick int64) {
	for i := row * t.config.Cells; i < (row+1)*t.config.Cells; i++ {
		if t.age(i, tick) > t.ticks {
			t.cells[i] = 0
		}
	}
}

// sweep expires the rows that fell due since the last call, each at its own time. In each
// round row r falls due when the share (r+1)/Rows of it is over. After a pause in which
// all cells expired nothing is left to sweep.
func (t *TimedRows) sweep(now int64) {
	rows, round := int64(t.config.Rows), t.round
	part, _ := mulDiv(now%round, rows, round)
	due := now/round*rows + part
	if now/t.tick-t.last > int64(t.ticks) {
		clear(t.cells)
		t.swept = due
	}
	t.last = now / t.tick
	for ; t.swept < due; t.swept++ {
		row := t.swept % rows
		phase, rest := mulDiv(row+1, round, rows)
		if rest > 0 {
			phase++
		}
		t.expire(int(row), (t.swept/rows*round+phase)/t.tick)
	}
}

// mulDiv returns a b / c, rounded down, and the remainder, for numbers that are not
// negative and a quotient that fits.
func mulDiv(a, b, c int64) (quotient, rest int64) {
	high, low := bits.Mul64(uint64(a), uint64(b))
	q, r := bits.Div64(high, low, uint64(c))
	return int64(q), int64(r)
}

// Bits implements [Windowed].
func (t *TimedRows) Bits() int { return t.config.Rows * t.config.RowBits }
