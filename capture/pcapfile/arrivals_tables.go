// SPDX-License-Identifier: Apache-2.0

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

// maxPeerTables bounds the tables of a peer, over all its captures, so that no peer takes the
// room of others. maxPeersTables bounds the tables of all peers together: the rest is for inputs of
// our own, whose run ends if they find no room. A mirror target has at most 4,097.
const (
	maxPeerTables  = 1 << 10
	maxPeersTables = maxArrivingTables - 1<<13
)

// refusable is a capture of a peer. Refuse ends it for a reason, on any goroutine, and returns
// the error of the run, nil if others go on.
type refusable interface{ Refuse(reason error) error }

// slotTables are the tables that captures of a slot described.
type slotTables struct {
	points map[uint32]uint32
	description
}

// description is the tables of a capture, as it had them, and their numbers: nil for none.
type description struct {
	ifaces   []capture.Interface
	sections []capture.Section
	num      *renumbering
}

// learn numbers new entries of a capture's tables. It remembers nothing of a capture that it
// refuses.
func (a *Arrivals) learn(in *arrival) error {
	at := a.slots[slot{in.Input, in.Slot}]
	if at == nil || in.Slot == "" {
		at = &slotTables{points: map[uint32]uint32{}}
	}
	ifaces, sections := in.batch.Interfaces, in.batch.Sections
	if in.num == nil {
		in.before = at.description
		in.num = &renumbering{input: in.Input, name: in.Slot, points: at.points}
	}
	in.again(ifaces, sections)
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
	if in.before.num == nil || len(ifaces) == len(in.before.ifaces) && len(sections) == len(in.before.sections) {
		at.description = description{ifaces, sections, in.num}
	}
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

// Full returns why no new peer is accepted for the rest of the run, "" while new peers are. It may
// be called on any goroutine.
func (a *Arrivals) Full() string {
	if !a.full.Load() {
		return ""
	}
	return fmt.Sprintf("peers have described %d sections or interfaces, as many as one run takes", maxPeersTables)
}

// again gives new entries of a capture's tables the numbers of the capture before in the same
// slot. If both describe the same, the descriptions are left out, so a peer that connects
// again and again does not fill the tables. Descriptions may come in pieces.
func (in *arrival) again(ifaces []capture.Interface, sections []capture.Section) {
	old, i, s := &in.before, len(in.num.ifaces), len(in.num.sections)
	if old.num == nil || len(ifaces) == i && len(sections) == s {
		return
	}
	if len(old.ifaces) < len(ifaces) || len(old.sections) < len(sections) ||
		!slices.Equal(old.ifaces[i:len(ifaces)], ifaces[i:]) || !slices.Equal(old.sections[s:len(sections)], sections[s:]) {
		old.num = nil // they differ from here on
		return
	}
	in.num.ifaces = append(in.num.ifaces, old.num.ifaces[i:len(ifaces)]...)
	in.num.sections = append(in.num.sections, old.num.sections[s:len(sections)]...)
	in.batch.Blocks = slices.DeleteFunc(in.batch.Blocks, func(k capture.Block) bool {
		return k.Type == capture.BlockFileHeader || k.Type == capture.BlockSectionHeader || k.Type == capture.BlockInterface
	})
}
