// SPDX-License-Identifier: Apache-2.0

package export

import "time"

// Bounds of the memory that recognizes repeated messages. At most half of the slots are used.
// Beyond the slots that all sources may take, each has leastSlots.
const (
	slotBytes  = 8
	leastSlots = 16
	mostSlots  = 1 << 19 // of half of a source's memory
	// remembered is the least time for which messages are remembered if memory suffices.
	remembered = time.Hour
)

// seen remembers the messages of a source by their hashes. New messages go into the
// young set. When that is full or covers an hour, the old set is cleared and both change places.
type seen struct {
	young, old hashes
	begun      int64 // when the young set began
}

// enter remembers a message, and reports whether it came before. Room is the number of slots that
// all sources may still take. spanned is the time remembered if memory was short, else 0.
func (s *seen) enter(hash uint64, now int64, room *int) (again bool, spanned time.Duration) {
	hash = max(hash, 1)
	if s.young.has(hash) || s.old.has(hash) {
		return true, 0
	}
	switch {
	case s.young.full() && !s.young.grow(room):
		spanned = max(time.Duration(now-s.begun), 1)
		s.turn(now)
	case s.young.used == 0:
		s.begun = now
	case now-s.begun > int64(remembered):
		s.turn(now)
	}
	if s.young.full() {
		s.young.grow(room)
	}
	s.young.put(hash)
	s.young.used++
	return false, spanned
}

func (s *seen) turn(now int64) {
	s.young, s.old, s.begun = s.old, s.young, now
	clear(s.young.slots)
	s.young.used = 0
}

// size returns the number of slots.
func (s *seen) size() int { return len(s.young.slots) + len(s.old.slots) }

// hashes is a set of hashes. A slot of 0 is free.
type hashes struct {
	slots []uint64
	used  int
}

func (h *hashes) full() bool { return 2*(h.used+1) > len(h.slots) }

func (h *hashes) has(hash uint64) bool {
	for at := hash; len(h.slots) > 0; at++ {
		switch h.slots[at&uint64(len(h.slots)-1)] {
		case hash:
			return true
		case 0:
			return false
		}
	}
	return false
}

func (h *hashes) put(hash uint64) {
	mask := uint64(len(h.slots) - 1)
	at := hash & mask
	for h.slots[at] != 0 {
		at = (at + 1) & mask
	}
	h.slots[at] = hash
}

// grow doubles the set, and reports whether there was room.
func (h *hashes) grow(room *int) bool {
	more := max(len(h.slots), leastSlots)
	if len(h.slots) > 0 && (more > *room || len(h.slots) >= mostSlots) {
		return false
	}
	*room -= more
	old := h.slots
	h.slots = make([]uint64, len(old)+more)
	for _, hash := range old {
		if hash != 0 {
			h.put(hash)
		}
	}
	return true
}
