package sketch

import (
	"encoding/binary"
	"errors"
	"math/bits"
)

// The parameters of the paper. An element has 2^t update values for each number of
// leading zeros. A register has the largest update value of its elements, and d bits that
// say which of the d values below it came, too.
const (
	precision  = 12 // p
	valueBits  = 2  // t
	windowBits = 24 // d

	registers = 1 << precision
	window    = 1 << windowBits
	// maxValue is the largest update value.
	maxValue = (65 - precision - valueBits) << valueBits
)

// Size is how many bytes the registers of a Sketch take, in memory and as Append writes
// them.
const Size = 4 * registers

// Sketch estimates how many distinct elements were added. The zero value is empty. It is
// not safe for concurrent use.
type Sketch struct {
	register [registers]uint32
	changed  bool // since last was computed
	last     Estimate
}

// Add adds elements. Each must be as good as random, like a word of a keyed digest. It
// sets bit i of seen if words[i] changed nothing, as any word does that came before, and
// clears the other bits of the words that cover them. seen may be nil. It takes constant
// time for each, and does not allocate.
func (s *Sketch) Add(seen []uint64, words []uint64) {
	for i, w := range words {
		changed := s.add(w)
		if seen == nil {
			continue
		}
		if i%64 == 0 {
			seen[i/64] = 0
		}
		if !changed {
			seen[i/64] |= 1 << (i % 64)
		}
	}
}

// add adds an element, and reports whether that changed a register (Algorithm 2 of the
// paper).
func (s *Sketch) add(w uint64) bool {
	r := &s.register[w>>valueBits%registers]
	zeros := bits.LeadingZeros64(w | (1<<(precision+valueBits) - 1))
	k := zeros<<valueBits + int(w%(1<<valueBits)) + 1
	old := *r
	switch over := k - int(old>>windowBits); {
	case over > 0:
		*r = uint32(k)<<windowBits | (window|old%window)>>over
	case over < 0 && windowBits+over >= 0:
		*r |= 1 << (windowBits + over)
	}
	s.changed = s.changed || *r != old
	return *r != old
}

// Merge adds all elements of another sketch (Algorithm 5 of the paper).
func (s *Sketch) Merge(other *Sketch) {
	for i, b := range other.register {
		a := s.register[i]
		if a == b || b == 0 {
			continue
		}
		s.register[i] = mergeRegisters(a, b)
	}
	s.changed = true
}

func mergeRegisters(a, b uint32) uint32 {
	if a < b {
		a, b = b, a
	}
	if over := a>>windowBits - b>>windowBits; over > 0 && b != 0 {
		return a | (window|b%window)>>over
	}
	return a | b
}

// Reset forgets all elements.
func (s *Sketch) Reset() { *s = Sketch{} }

// Append appends the registers to b, in Size bytes, little-endian.
func (s *Sketch) Append(b []byte) []byte {
	for _, r := range s.register {
		b = binary.LittleEndian.AppendUint32(b, r)
	}
	return b
}

// ErrInvalid is the error about registers that no sketch has.
var ErrInvalid = errors.New("not the registers of a sketch")

// Restore sets the registers to those that Append wrote. Errors are ErrInvalid, and leave
// the sketch as it was.
func (s *Sketch) Restore(b []byte) error {
	if len(b) != Size {
		return ErrInvalid
	}
	for at := 0; at < Size; at += 4 {
		if !validRegister(binary.LittleEndian.Uint32(b[at:])) {
			return ErrInvalid
		}
	}
	for i := range s.register {
		s.register[i] = binary.LittleEndian.Uint32(b[4*i:])
	}
	s.changed = true
	return nil
}

// validRegister reports whether elements can lead to a register: bits for update values
// below 1 are clear but for the one that stands for the empty register.
func validRegister(r uint32) bool {
	value := int(r >> windowBits)
	if value > maxValue || value == 0 && r != 0 {
		return false
	}
	if value == 0 || value > windowBits {
		return true
	}
	// Update value j is bit windowBits-value+j; j = 0 is the empty register before it.
	low := r % (1 << (windowBits - value + 1))
	return low == 1<<(windowBits-value)
}
