// SPDX-License-Identifier: Apache-2.0

package text

import (
	"encoding/binary"
	"math/bits"
)

// shape is a record of JSON, of which some values vary. Who writes records gives them the same names
// in the same order. So most records have a known shape, and comparing the bytes between values
// replaces parsing: the parser would find the same names around the same values.
type shape struct {
	text  []byte
	slots []slot
	steps []slot // the slots that vary or have a target
	tail  []byte // the text behind the last step
}

// slot is the place of a value that is no object.
type slot struct {
	begin, end int    // in shape.text
	target     target // 0 if the value says nothing
	quoted     bool   // it is a string; its quotes lie outside
	varies     bool   // else all records had the value of shape.text
	before     []byte // of a step: text to compare, which has the value of the step before if that does not vary
}

const (
	mostShapes = 8
	// mostText is the usual value of shapes.most.
	mostText = 1 << 14
	// mostMisses is how many records of unknown shape may follow each other. Then only one in
	// rareShape records is remembered, as all may differ.
	mostMisses = 64
	rareShape  = 16
)

// shapes are the shapes of recent records, the latest first.
type shapes struct {
	names  map[string]target
	most   int // bytes of a record that is remembered
	known  []*shape
	misses int

	learned *shape // of the record at hand

	length int     // of the record that match found
	found  []value // its numbers and strings that have a target
}

// value is a value of the record at hand.
type value struct {
	target     target
	begin, end int
}

// match finds a known shape of the record that begins p. It returns the length of the record, 0 if
// there is none.
func (s *shapes) match(p []byte) int {
	known := s.known
	if s.misses > mostMisses {
		known = known[:min(len(known), 1)]
	}
	for i, one := range known {
		if s.length = s.fits(one, p); s.length > 0 {
			copy(known[1:], known[:i])
			known[0], s.misses = one, 0
			return s.length
		}
	}
	s.misses++
	return 0
}

// fits returns the length of the record that begins p if it has a shape, else 0.
func (s *shapes) fits(one *shape, p []byte) int {
	n := s.compare(one, p)
	if n == 0 && one.loosen(p) {
		one.walk()
		n = s.compare(one, p)
	}
	return n
}

// compare does what fits does, without values that have not varied so far.
func (s *shapes) compare(one *shape, p []byte) int {
	found, at := s.found[:0], 0
	for i := range one.steps {
		step := &one.steps[i]
		begin := at + len(step.before)
		if len(p) <= begin || string(p[at:begin]) != string(step.before) {
			return 0
		}
		end, ok := begin+step.end-step.begin, true
		if at = begin; step.varies {
			if step.quoted {
				end, ok = quote(p, begin)
			} else {
				end, ok = word(p, begin)
			}
			if !ok {
				return 0
			}
			at = end
		}
		if step.target != 0 && (step.quoted || isNumber(p[begin])) {
			found = append(found, value{step.target, begin, end})
		}
	}
	s.found = found
	end := at + len(one.tail)
	if len(p) < end || string(p[at:end]) != string(one.tail) {
		return 0
	}
	return end
}

// loosen marks the slots whose values differ in a record as varying, and reports whether there are
// any. It stops where the shapes differ.
func (one *shape) loosen(p []byte) (more bool) {
	at, from, ok := 0, 0, false
	for i := range one.slots {
		slot := &one.slots[i]
		begin := at + slot.begin - from
		if len(p) <= begin || string(p[at:begin]) != string(one.text[from:slot.begin]) {
			return more
		}
		if slot.quoted {
			at, ok = quote(p, begin)
		} else {
			at, ok = word(p, begin)
		}
		if from = slot.end; !ok {
			return more
		}
		if !slot.varies && string(p[begin:at]) != string(one.text[slot.begin:slot.end]) {
			slot.varies, more = true, true
		}
	}
	return more
}

// walk finds the steps.
func (one *shape) walk() {
	one.steps = one.steps[:0]
	from := 0
	for _, slot := range one.slots {
		if slot.varies || slot.target != 0 {
			slot.before, from = one.text[from:slot.begin], slot.begin
			if one.steps = append(one.steps, slot); slot.varies {
				from = slot.end
			}
		}
	}
	one.tail = one.text[from:]
}

// quote returns where the first quote at or behind at is. It returns false if there is none, or an
// escape before it. It looks at eight bytes at once:
//
//	word        a   "   b   \
//	q         ..   0  ..  ..    0 for quotes, as e for escapes
//	q - ones   .  ff   .   .    0 borrows, so its highest bit gets set
//	is         0  80   0  80    the highest bits that were not set before
func quote(p []byte, at int) (int, bool) {
	const ones, quotes, escapes = 0x0101010101010101, 0x2222222222222222, 0x5c5c5c5c5c5c5c5c
	for ; len(p)-at >= 8; at += 8 {
		word := binary.LittleEndian.Uint64(p[at:])
		q, e := word^quotes, word^escapes
		// The lowest of these bits is right, though bits above may be wrong.
		if is := ((q-ones)&^q | (e-ones)&^e) & (ones << 7); is != 0 {
			at += bits.TrailingZeros64(is) / 8
			return at, p[at] == '"'
		}
	}
	for ; at < len(p); at++ {
		if p[at] == '"' || p[at] == '\\' {
			return at, p[at] == '"'
		}
	}
	return at, false
}

// word returns the end of the number, or of the null, true or false, at a place. It returns false if
// none is there.
func word(p []byte, at int) (int, bool) {
	begin := at
	for n := 8; n == 8; at += n {
		_, n = eight(p[at:])
	}
	for at < len(p) && inWord[p[at]] {
		at++
	}
	v := p[begin:at]
	return at, len(v) > 0 && (isNumber(v[0]) || isName(v))
}

// inWord has what isWord returns.
var inWord = func() (in [256]bool) {
	for c := range in {
		in[c] = isWord(byte(c))
	}
	return in
}()

func isNumber(c byte) bool { return c == '-' || isDigit(c) }

func isName(v []byte) bool {
	return string(v) == "null" || string(v) == "true" || string(v) == "false"
}

// learn prepares to learn the shape of a record, unless it is too long or too many differed.
func (s *shapes) learn(p []byte) *shapes {
	if len(p) > s.most || s.misses > mostMisses && s.misses%rareShape != 0 {
		return nil
	}
	if s.learned == nil {
		s.learned = new(shape)
	}
	s.learned.slots = s.learned.slots[:0]
	return s
}

// slot notes a value at a place of the record, under a name.
func (s *shapes) slot(begin, end int, path []byte, quoted bool) {
	s.learned.slots = append(s.learned.slots, slot{begin: begin, end: end, target: s.names[string(path)], quoted: quoted})
}

// keep keeps the shape of a record that was read to its end. The least recent shape leaves.
func (s *shapes) keep(p []byte) {
	s.learned.text = append(s.learned.text[:0], p...)
	s.learned.walk()
	n, spare := len(s.known), (*shape)(nil)
	if n == mostShapes {
		n--
		spare = s.known[n]
	}
	s.known = append(s.known[:n], nil)
	copy(s.known[1:], s.known)
	s.known[0], s.learned = s.learned, spare
}
