// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"bytes"
	"io"
	"math/bits"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/layout"
)

// Copy takes the snapshots of filters at one moment, and copies them while the filters go
// on. It is the writer to pass to Snapshot methods, which then return at once. After that
//
//   - Start begins to copy. The copy has nothing that the filters remember later: before
//     a filter changes a line, the line is copied.
//   - Copy continues for a while, between two calls of the filters. Filters may be closed
//     meanwhile.
//   - WriteTo writes the snapshots once all is copied. Any goroutine may call it.
//
// Without Start, WriteTo writes the filters' contents, and no goroutine may use the
// filters meanwhile. The zero value is empty. The memory of a copy, as much as the lines
// of the filters, serves the next copy until Close.
//
// A filter is in a Copy once at most. Overflow of rows is copied at once.
type Copy struct {
	steps []func(out *Writer) // the steps that write the snapshots
	all   []*LineCopy
	done  int           // how many of all are copied
	arena *layout.Arena // nil for none
	kept  []uint64      // room for LineCopy.kept
}

// wordsAtOnce is the number of words of LineCopy.kept that Copy handles between two
// checks of the clock: 256 KiB of lines.
const wordsAtOnce = 64

// reservedLines is how many lines Reserve populates between two calls of stopped: 64 MiB.
const reservedLines = 1 << 20

func (c *Copy) add(step func(out *Writer)) { c.steps = append(c.steps, step) }

func (c *Copy) addLines(l *LineCopy) {
	c.all = append(c.all, l)
	c.add(func(out *Writer) { out.writeLines(l.lines) })
}

// Write puts bytes between the snapshots. It never fails.
func (c *Copy) Write(b []byte) (int, error) {
	whole := bytes.Clone(b)
	c.add(func(out *Writer) { out.write(whole) })
	return len(b), nil
}

// Lines returns how many lines the snapshots have.
func (c *Copy) Lines() (sum int) {
	for _, l := range c.all {
		sum += len(l.lines)
	}
	return sum
}

// Reserve makes room for the given number of lines and an eighth more, until stopped
// returns true. It takes 100 ms for a gigabyte. A goroutine may call it while another one
// that calls the other methods waits for it. It must not be called between Start and
// Reset. It returns the error of layout.NewArena.
func (c *Copy) Reserve(lines int, stopped func() bool) error {
	if c.arena != nil && len(c.arena.Lines()) >= lines {
		return nil
	}
	if err := c.closeArena(); err != nil {
		return err
	}
	room, err := layout.NewArena(lines + lines/8)
	if err != nil {
		return err
	}
	c.arena = room
	all := len(room.Lines())
	for at := 0; at < all && !stopped(); at += reservedLines {
		room.Populate(at, min(at+reservedLines, all))
	}
	return nil
}

// Start begins to copy. It reports false, and does nothing, where Reserve has not made
// enough room.
func (c *Copy) Start() bool {
	lines := c.Lines()
	if lines > 0 && (c.arena == nil || len(c.arena.Lines()) < lines) {
		return false
	}
	words := 0
	for _, l := range c.all {
		words += l.words()
	}
	if cap(c.kept) < words {
		c.kept = make([]uint64, words)
	}
	clear(c.kept[:words])
	at, word := 0, 0
	for _, l := range c.all {
		l.start(c.arena.Lines()[at:][:len(l.lines)], c.kept[word:][:l.words()])
		at, word = at+len(l.lines), word+l.words()
	}
	return true
}

// Copy copies for about the given time, at least 256 KiB, and reports whether all is
// copied.
func (c *Copy) Copy(during time.Duration) (done bool) {
	for begin := time.Now(); c.done < len(c.all); {
		if c.all[c.done].copyWords(wordsAtOnce) {
			c.done++
		}
		if time.Since(begin) >= during {
			break
		}
	}
	return c.done == len(c.all)
}

// WriteTo implements io.WriterTo.
func (c *Copy) WriteTo(w io.Writer) (int64, error) {
	out := &Writer{to: w, seal: newSeal(engine.Secret{}), buf: make([]byte, 0, 8*partWords)}
	for _, step := range c.steps {
		step(out)
	}
	return out.written, out.err
}

// Reset forgets the snapshots, copied or not, and keeps the room.
func (c *Copy) Reset() {
	for _, l := range c.all {
		l.release()
	}
	clear(c.steps)
	c.steps, c.all, c.done = c.steps[:0], nil, 0
}

// Close forgets the snapshots, and gives the room back.
func (c *Copy) Close() error {
	c.Reset()
	return c.closeArena()
}

func (c *Copy) closeArena() error {
	room := c.arena
	if c.arena, c.kept = nil, nil; room == nil {
		return nil
	}
	return room.Close()
}

// LineCopy is the lines of a filter in a Copy. A nil LineCopy has no lines to keep.
type LineCopy struct {
	lines []layout.Line // the lines to write: the filter's, or their copy
	arena *layout.Arena // the lines' arena, nil for a filter that keeps nothing
	first int           // number of the first line
	from  []layout.Line // the filter's lines while they are copied
	kept  []uint64      // a bit for each line that is copied
	next  int           // first word of kept that is not all ones or not checked
}

// words returns the size of kept.
func (l *LineCopy) words() int { return (len(l.lines) + 63) / 64 }

// start begins to copy the lines to others. kept has a clear bit for each.
func (l *LineCopy) start(to []layout.Line, kept []uint64) {
	l.from, l.lines, l.kept = l.arena.Pin()[l.first:][:len(to)], to, kept
}

// Keep copies the lines that elements are about to change, line floor(d[1] * lines /
// 2^64) for each.
func (l *LineCopy) Keep(d []digest.Digest) {
	if !l.Copying() {
		return
	}
	for i := range d {
		line, _ := bits.Mul64(d[i][1], uint64(len(l.from)))
		l.KeepLine(line)
	}
}

// Copying reports whether lines must be kept before they change.
func (l *LineCopy) Copying() bool { return l != nil && l.from != nil }

// KeepLine copies a line of the arena that is about to change, if the Copy has it.
// Copying must report true.
func (l *LineCopy) KeepLine(line uint64) {
	line -= uint64(l.first)
	if line >= uint64(len(l.from)) {
		return
	}
	word, bit := &l.kept[line/64], uint64(1)<<(line%64)
	if *word&bit == 0 {
		*word |= bit
		l.lines[line] = l.from[line]
	}
}

// KeepRange copies lines from to to-1 of the arena before they change.
func (l *LineCopy) KeepRange(from, to int) {
	if !l.Copying() {
		return
	}
	for line := from; line < to; line++ {
		l.KeepLine(uint64(line))
	}
}

// copyWords copies the lines of the given number of words, and reports whether they were
// the last.
func (l *LineCopy) copyWords(words int) bool {
	for end := min(l.next+words, len(l.kept)); l.next < end; l.next++ {
		first := 64 * l.next
		last := min(first+64, len(l.from))
		if l.kept[l.next] == 0 {
			copy(l.lines[first:last], l.from[first:last])
		} else {
			for line := first; line < last; line++ {
				l.KeepLine(uint64(l.first + line))
			}
		}
		l.kept[l.next] = ^uint64(0)
	}
	if l.next < len(l.kept) {
		return false
	}
	l.release()
	return true
}

// release unpins the filter's lines.
func (l *LineCopy) release() {
	if l.from == nil {
		return
	}
	l.from, l.kept, l.next = nil, nil, 0
	// Unpin fails if the filter has closed its memory, which nothing waits for any more.
	_ = l.arena.Unpin()
}
