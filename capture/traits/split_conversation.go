// SPDX-License-Identifier: Apache-2.0

package traits

// parts records which packets of a conversation were kept or removed, and how kept ones
// differ.
type parts uint8

const (
	kept   parts = 1 << iota // a packet was kept
	again                    // and another one
	copied                   // a copy was removed
	// The kept packets differ in tags, or in interfaces.
	tagsDiffer
	placesDiffer
)

// sampled, split and tagged return the addition of a conversation to Counts: 0 or 1.
func (t parts) sampled() uint64 { return count(t&again != 0) }
func (t parts) split() uint64   { return count(t&copied != 0 && t&(tagsDiffer|placesDiffer) != 0) }
func (t parts) tagged() uint64  { return count(t&copied != 0 && t&tagsDiffer != 0) }

func count(is bool) uint64 {
	if is {
		return 1
	}
	return 0
}

// conversation is a conversation of the sample, with the point of its first kept packet.
// Two points that differ have equal numbers here once in 65,536 times.
type conversation struct {
	tags, place uint16
	traits      parts
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
