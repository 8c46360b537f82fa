// SPDX-License-Identifier: Apache-2.0

package input

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/bpf"
)

// filterFlag is the flag of the filter that removes packets.
const filterFlag = "--filter"

// keep removes the packets of a batch that do not match m, and returns how many they are.
// Blocks stay between the packets that surrounded them. wanted is room for a bit for each
// packet.
func keep(b *capture.Batch, m *Matcher, wanted []uint64) (removed int) {
	n, kept := len(b.Frames), 0
	for from, to := range b.Groups() {
		m.Match(wanted[from/64:], b, from, to)
		for i := from; i < to; i++ {
			b.Frames[kept] = b.Frames[i] // without a branch, which would often go wrong
			kept += int(wanted[i/64] >> (i % 64) & 1)
		}
	}
	moveBlocks(b.Blocks, wanted, n)
	b.Frames = b.Frames[:kept]
	return n - kept
}

// pick removes the packets of a batch that are not wanted, as keep does.
func pick(b *capture.Batch, wanted func(b *capture.Batch, i int) bool, bits []uint64) (removed int) {
	n, kept := len(b.Frames), 0
	clear(bits)
	for i := range n {
		if wanted(b, i) {
			bits[i/64] |= 1 << (i % 64)
			b.Frames[kept] = b.Frames[i]
			kept++
		}
	}
	moveBlocks(b.Blocks, bits, n)
	b.Frames = b.Frames[:kept]
	return n - kept
}

// moveBlocks lets Before count only wanted packets, of n. It overwrites wanted.
func moveBlocks(blocks []capture.Block, wanted []uint64, n int) {
	if len(blocks) == 0 {
		return
	}
	drop := capture.Complement(wanted, wanted, n)
	at, kept := 0, uint64(0)
	for i := range blocks {
		before := int(blocks[i].Before)
		kept += capture.CountKept(drop, at, before)
		at, blocks[i].Before = before, uint32(kept)
	}
}

// Wanted keeps the packets of a stream that a filter wants.
type Wanted struct {
	*Matcher
	bits []uint64
}

// NewWanted makes the filter of a stream. warn is as in MatcherConfig.
func NewWanted(filter bpf.Filter, warn func(error)) *Wanted {
	return &Wanted{Matcher: NewMatcher(MatcherConfig{Flag: filterFlag, Condition: Condition{Filter: filter}, Warn: warn})}
}

// Keep removes the other packets from the next batch of the stream. Its errors come from
// Admit.
func (w *Wanted) Keep(ctx context.Context, b *capture.Batch) error {
	if err := w.Admit(ctx, b); err != nil {
		return err
	}
	n := (len(b.Frames) + 63) / 64
	w.bits = slices.Grow(w.bits[:0], n)[:n]
	keep(b, w.Matcher, w.bits)
	return nil
}

// Condition chooses packets: by an interface, by an input, or by a filter. At most one of
// the three is set. The zero value chooses none.
type Condition struct {
	Interface string // the name of the interface in the capture, or of the live interface
	Input     string // the input as Open was given it
	Filter    bpf.Filter
}

// ParseCondition reads "interface NAME", "input NAME" or a filter expression.
func ParseCondition(text string) (Condition, error) {
	text = strings.TrimSpace(text)
	word, name, _ := strings.Cut(text, " ")
	name = strings.TrimSpace(name)
	switch {
	case text == "":
		return Condition{}, errors.New("is empty")
	case word != "interface" && word != "input":
		return Condition{Filter: bpf.Filter{Expr: text}}, nil
	case name == "":
		return Condition{}, fmt.Errorf("needs a name after the word %s", word)
	case word == "interface":
		return Condition{Interface: name}, nil
	}
	return Condition{Input: name}, nil
}

// String returns the condition as ParseCondition reads it, "" for none.
func (c *Condition) String() string {
	switch {
	case c.Interface != "":
		return "interface " + c.Interface
	case c.Input != "":
		return "input " + c.Input
	}
	return c.Filter.Expr
}
