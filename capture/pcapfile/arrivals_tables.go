package pcapfile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/flowdedup/flowdedup/capture"
)

// maxArrivingTables bounds the sections, and the interfaces, of all captures of an Arrivals
// together: whoever connects often, or describes many, cannot fill the memory.
const maxArrivingTables = 1 << 16

// maxPeerTables bounds those of one peer, over all its captures, so that none takes the room
// of the others.
const maxPeerTables = 1 << 10

// refusable is a capture of a peer. Refuse ends it for a reason, on any goroutine, and
// returns what the run fails with, nil if others go on.
type refusable interface{ Refuse(reason error) error }

// slotTables is what captures of one slot described.
type slotTables struct {
	points map[uint32]uint32
	// The tables of the last one, as it had them, and their numbers.
	ifaces   []capture.Interface
	sections []capture.Section
	num      *renumbering
}

// learn numbers what is new in the tables of a capture.
func (a *Arrivals) learn(in *arrival) error {
	at := a.slot(in)
	ifaces, sections := in.batch.Interfaces, in.batch.Sections
	if in.num == nil {
		in.num = at.again(in, ifaces, sections)
	}
	if _, peer := in.Source.(refusable); peer {
		host, _, _ := strings.Cut(in.Slot, "#") // it may have several captures
		more := max(len(ifaces)-len(in.num.ifaces), len(sections)-len(in.num.sections))
		if a.described[host]+more > maxPeerTables {
			return fmt.Errorf("%s: more than %d sections or interfaces of one peer are %w", in.Slot, maxPeerTables, capture.ErrNotSupported)
		}
		a.described[host] += more
	}
	if len(a.ifaces)+len(ifaces)-len(in.num.ifaces) > maxArrivingTables ||
		len(a.sections)+len(sections)-len(in.num.sections) > maxArrivingTables {
		return fmt.Errorf("%s: more than %d sections or interfaces in one run are %w", a.names[in.Input], maxArrivingTables, capture.ErrNotSupported)
	}
	a.extend(in.num, ifaces, sections)
	at.ifaces, at.sections, at.num = ifaces, sections, in.num
	return nil
}

// slot returns the tables of the slot of a capture, or of a new one if it has no name.
func (a *Arrivals) slot(in *arrival) *slotTables {
	at := slot{in.Input, in.Slot}
	t := a.slots[at]
	if t == nil || at.name == "" {
		t = &slotTables{points: map[uint32]uint32{}}
		a.slots[at] = t
	}
	return t
}

// again returns the numbers for a capture that begins. If it describes what the one before
// it in its slot did, it has the numbers of that, and its descriptions are left out: one
// that comes again and again does not fill the tables.
func (t *slotTables) again(in *arrival, ifaces []capture.Interface, sections []capture.Section) *renumbering {
	num := &renumbering{input: in.Input, name: in.Slot, points: t.points}
	if len(t.ifaces) < len(ifaces) || len(t.sections) < len(sections) ||
		!slices.Equal(t.ifaces[:len(ifaces)], ifaces) || !slices.Equal(t.sections[:len(sections)], sections) {
		return num
	}
	num.ifaces, num.sections = slices.Clone(t.num.ifaces[:len(ifaces)]), slices.Clone(t.num.sections[:len(sections)])
	in.batch.Blocks = slices.DeleteFunc(in.batch.Blocks, func(k capture.Block) bool {
		return k.Type == capture.BlockFileHeader || k.Type == capture.BlockSectionHeader || k.Type == capture.BlockInterface
	})
	return num
}
