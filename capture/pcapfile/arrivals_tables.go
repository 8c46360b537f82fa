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
// of the others. maxPeersTables bounds those of all peers together: the rest is for inputs
// of our own, whose run ends if they find no room. A mirror target has at most 4,097.
const (
	maxPeerTables  = 1 << 10
	maxPeersTables = maxArrivingTables - 1<<13
)

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

// learn numbers what is new in the tables of a capture. It remembers nothing of one that it
// refuses.
func (a *Arrivals) learn(in *arrival) error {
	at := a.slots[slot{in.Input, in.Slot}]
	if at == nil || in.Slot == "" {
		at = &slotTables{points: map[uint32]uint32{}}
	}
	ifaces, sections := in.batch.Interfaces, in.batch.Sections
	if in.num == nil {
		in.num = at.again(in, ifaces, sections)
	}
	more := max(len(ifaces)-len(in.num.ifaces), len(sections)-len(in.num.sections))
	if _, peer := in.Source.(refusable); peer {
		if err := a.admit(in.Slot, more); err != nil {
			return err
		}
	}
	if len(a.ifaces)+more > maxArrivingTables || len(a.sections)+more > maxArrivingTables {
		return fmt.Errorf("%s: more than %d sections or interfaces in one run are %w", a.names[in.Input], maxArrivingTables, capture.ErrNotSupported)
	}
	a.extend(in.num, ifaces, sections)
	at.ifaces, at.sections, at.num = ifaces, sections, in.num
	a.slots[slot{in.Input, in.Slot}] = at
	return nil
}

// admit counts more sections or interfaces of a peer, or says why it may not have them.
func (a *Arrivals) admit(name string, more int) error {
	host, _, _ := strings.Cut(name, "#") // it may have several captures
	if a.described[host]+more > maxPeerTables {
		return fmt.Errorf("%s: more than %d sections or interfaces of one peer are %w", name, maxPeerTables, capture.ErrNotSupported)
	}
	if more > 0 && a.ofPeers+more > maxPeersTables {
		a.full.Store(true)
		return fmt.Errorf("%s: more than %d sections or interfaces of all peers are %w", name, maxPeersTables, capture.ErrNotSupported)
	}
	a.described[host] += more
	a.ofPeers += more
	return nil
}

// Full says why no new peer can be taken for the rest of the run, "" if one can. It may be
// called on any goroutine.
func (a *Arrivals) Full() string {
	if !a.full.Load() {
		return ""
	}
	return fmt.Sprintf("peers have described %d sections or interfaces, as many as one run takes", maxPeersTables)
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
