// SPDX-License-Identifier: Apache-2.0

package split

// traits are what is known of a conversation.
type traits uint8

const (
	kept   traits = 1 << iota // a packet was kept
	again                     // and another one
	copied                    // a copy was removed
	// The kept packets differ in tags, or in interfaces.
	tagsDiffer
	placesDiffer
)

// sampled, split and tagged return what a conversation adds to Counts: 0 or 1.
func (t traits) sampled() uint64 { return count(t&again != 0) }
func (t traits) split() uint64   { return count(t&copied != 0 && t&(tagsDiffer|placesDiffer) != 0) }
func (t traits) tagged() uint64  { return count(t&copied != 0 && t&tagsDiffer != 0) }

func count(is bool) uint64 {
	if is {
		return 1
	}
	return 0
}

// conversation is a conversation of the sample, with the point of its first kept packet.
// Two points that differ have equal numbers here once in 65,536 times.
type conversation struct {
	id          uint64 // 0 for none
	tags, place uint16
	traits      traits
}

// keep enters a packet that was kept.
func (k *conversation) keep(tags, place uint16) {
	if k.traits&kept == 0 {
		k.tags, k.place = tags, place
		k.traits |= kept
		return
	}
	k.traits |= again
	if k.tags != tags {
		k.traits |= tagsDiffer
	}
	if k.place != place {
		k.traits |= placesDiffer
	}
}

const (
	maxConversations = 1 << 12
	slots            = 2 * maxConversations // so that searches are short
)

// table has the conversations of a sample by hash: first all of them, and each time that
// it is full every second of them.
type table struct {
	slots [slots]conversation
	n     int
	level uint // how many of the highest bits of an id must be 0
}

// find returns the conversation of an id, a new one if it is unknown. It returns nil if
// that is not in the sample.
func (t *table) find(id uint64) *conversation {
	for id>>(64-t.level) == 0 {
		k := t.at(id)
		switch {
		case k.id != 0:
			return k
		case t.n < maxConversations:
			t.n++
			k.id = id
			return k
		}
		t.halve()
	}
	return nil
}

// at returns the slot of an id, or the empty one where it belongs.
func (t *table) at(id uint64) *conversation {
	for i := id; ; i++ {
		if k := &t.slots[i%slots]; k.id == id || k.id == 0 {
			return k
		}
	}
}

// halve drops about every second conversation.
func (t *table) halve() {
	all := t.slots
	level := t.level + 1
	t.clear()
	t.level = level
	for i := range all {
		if id := all[i].id; id != 0 && id>>(64-level) == 0 {
			*t.at(id) = all[i]
			t.n++
		}
	}
}

func (t *table) clear() {
	clear(t.slots[:])
	t.n, t.level = 0, 0
}
