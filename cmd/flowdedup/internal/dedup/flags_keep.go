// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/afpacket"
	"github.com/flowdedup/flowdedup/capture/identity"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
	"github.com/flowdedup/flowdedup/capture/pcapoverip"
	"github.com/flowdedup/flowdedup/capture/strip"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/input"
	"github.com/flowdedup/flowdedup/engine/window"
)

// KeepFlags define which packets are judged, which of equal packets is kept, and how it is
// written.
type KeepFlags struct {
	cli.WithinFlag
	only, protect []input.Condition // any of several matches
	keep          string
	choice        Choice // what flags set as it is
	written       bool   // packets are written: see check
	counts        bool   // they are counted as if they were
	hold          time.Duration
}

// The words that these flags take.
var (
	keepWords = []string{"flow", "first"}
	// conditionWords are the words that an expression can begin with.
	conditionWords = append([]string{"interface", "input"}, cli.FilterWords...)
	preferWords    = append([]string{preferFirst}, conditionWords...)
)

// maxHold is the longest hold without --hold.
const maxHold = 10 * time.Millisecond

// Flags returns the flags.
func (f *KeepFlags) Flags() []cli.Flag {
	return []cli.Flag{
		f.WithinFlag.Flag(),
		{Name: "only", Group: cli.GroupCompare, To: newExpressions(&f.only), Words: conditionWords, Help: "judge only packets that match `EXPR`; pass others untouched; may be repeated"},
		{Name: "protect", Group: cli.GroupCompare, To: newExpressions(&f.protect), Words: conditionWords, Help: "never remove packets that match `EXPR`; may be repeated"},
		{Name: "keep", Group: cli.GroupKeep, To: cli.NewParsed(&f.keep, "", "which", cli.OneOfNear(keepWords)), Words: keepWords, Help: "which of equal packets stays: flow (all of a conversation from one point) or first (default: flow where packets are written)"},
		{Name: "prefer", Group: cli.GroupKeep, To: newPreferences(f), Words: preferWords, Help: "keep the copy that matches `EXPR` (may be repeated, best first), or first: the first one, whole or not"},
		{Name: "hold", Group: cli.GroupKeep, To: cli.NewParsed(&f.hold, "", "duration", cli.ParseDelay), Words: []string{"1ms", "10ms"}, Help: "longest wait for a better copy (default: --window, at most 10ms)"},
		{Name: "strip", Group: cli.GroupKeep, To: cli.NewList(&f.choice.Strip, "", "headers", cli.ParseWords(cli.StripWords)), Words: cli.StripWords, Needs: []string{"write duplicates forward: it changes written packets"}, Help: "remove headers from written packets: " + strings.Join(cli.StripWords, ", ")},
		{Name: "mark", Group: cli.GroupKeep, To: &f.choice.Mark, Needs: []string{"write: it writes all packets, copies with a comment"}, Not: []string{"strip slice: it shows packets as they came", "duplicates: it writes copies to the file of -w", "forward: an interface takes no comments"}, Help: "write all packets, and mark each copy with a comment (pcapng)"},
		{Name: "slice", Group: cli.GroupKeep, To: cli.NewParsed(&f.choice.Slice, "", "bytes", strip.ParseSlice), Words: cli.SliceWords, Needs: []string{"write duplicates: it cuts written packets"}, Not: []string{"forward: an interface takes whole packets"}, Help: "cut written packets to 96 bytes, or l4+64: 64 bytes behind the innermost TCP or UDP header"},
	}
}

// conditions returns each condition with its flag.
func (f *KeepFlags) conditions() (all []namedCondition) {
	add := func(flag string, some []input.Condition) {
		for _, c := range some {
			all = append(all, namedCondition{flag, c})
		}
	}
	add("--only", f.only)
	add("--protect", f.protect)
	add("--prefer", f.choice.Prefer)
	return all
}

// namedCondition is a condition and its flag.
type namedCondition struct {
	flag string
	input.Condition
}

// chooses reports whether packets wait for better copies.
func (f *KeepFlags) chooses() bool { return f.keep == "flow" || len(f.choice.Prefer) > 0 }

// chooseKeep sets --keep unless the user did. A run that writes no packets keeps the first, since its
// counts are the same, and so does a hub.
func (f *KeepFlags) chooseKeep(written, hub bool) {
	switch {
	case f.keep != "":
	case written && !hub:
		f.keep = "flow"
	default:
		f.keep, f.counts = "first", !hub
	}
}

// Check rejects flags that contradict each other, and chooses --keep. output is where kept
// packets are written, or "". others says that there are other outputs of packets.
func (f *KeepFlags) Check(fs *pflag.FlagSet, compare *CompareFlags, output string, others bool) error {
	f.written = output != "" || others
	f.chooseKeep(f.written, fs.Changed("hub"))
	err := f.checkFirst()
	switch {
	case err != nil:
	case len(f.choice.Prefer) > maxPreferences:
		err = fmt.Errorf("--prefer may be given %d times, not %d", maxPreferences, len(f.choice.Prefer))
	case fs.Changed("hold") && !f.chooses() && !f.Intact(compare.IdentityConfig()):
		err = errors.New("--hold needs --keep flow (the default where packets are written), --prefer, or copies that may differ in checksums or length: otherwise no packet waits")
	case fs.Changed("hold") && f.hold == 0:
		err = errors.New("--hold 0 leaves no time for a better copy to come: leave it out, or give it a duration")
	case f.WithinFlag.Check(&compare.CopyFlags) != nil:
		err = f.WithinFlag.Check(&compare.CopyFlags)
	case f.choice.Mark && (pcapfile.FormatOf(output) == capture.FormatPcap || pcapoverip.Classic(output)):
		err = fmt.Errorf("--mark writes comments, which pcap cannot hold: name the file .pcapng instead of %s", output)
	}
	if err != nil {
		return cli.Usage(err)
	}
	return nil
}

// checkInputs rejects values without a meaning for these captures.
func (f *KeepFlags) checkInputs(inputs []string) error {
	if err := f.WithinFlag.CheckInputs(inputs); err != nil {
		return err
	}
	for _, c := range f.conditions() {
		if c.Input != "" && !slices.Contains(inputs, c.Input) {
			return cli.Usagef("%s %s: there is no such input%s", c.flag, c.String(), cli.DidYouMean("input ", c.Input, inputs))
		}
	}
	return nil
}

// CheckInterfaces rejects values without a meaning for captures from these sources. The
// interfaces of a network have the names of its peers.
func (f *KeepFlags) CheckInterfaces(from *cli.Sources) error {
	captured, peers := from.Interfaces, from.Network()
	if slices.Contains(f.Within, "input") {
		return cli.Usagef("--within input is for captures: use --within interface")
	}
	for _, c := range f.conditions() {
		if c.Input != "" {
			return cli.Usagef("%s %s: inputs are captures: use interface NAME", c.flag, c.String())
		}
		if c.Interface != "" && !peers && !slices.Contains(captured, c.Interface) && !slices.Contains(captured, afpacket.Any) {
			return cli.Usagef("%s %s: there is no -i %s%s", c.flag, c.String(), c.Interface, cli.DidYouMean("interface ", c.Interface, captured))
		}
	}
	return nil
}

// Complete adds the choice of packets to the configuration of the filter.
func (f *KeepFlags) Complete(c *Config) {
	c.Within, c.Only, c.Protect = f.Within, f.only, f.protect
	c.Choice = f.choice
	c.Choice.Flow, c.Choice.Intact = f.keep == "flow", f.Intact(c.Identity)
	if f.chooses() || c.Choice.Intact {
		c.Choice.Hold = f.Hold(c.Window)
	} else if f.counts {
		c.Choice.Counts = f.Hold(c.Window)
	}
}

// Hold returns how long packets wait for better copies.
func (f *KeepFlags) Hold(w window.Window) time.Duration {
	switch {
	case f.hold > 0:
		return f.hold
	case w.Duration > 0:
		return min(w.Duration, maxHold)
	}
	return maxHold
}

// WarnHold warns of a hold that is longer than the window.
func (f *KeepFlags) WarnHold(e *cli.Env, w window.Window) {
	if w.Duration > 0 && f.hold > w.Duration {
		e.Warn(fmt.Errorf("--hold %v is longer than --window %v: no copy comes after the window", f.hold, w.Duration))
	}
}

// preferFirst is the word of --prefer that keeps the first of equal packets, whatever is wrong
// with it.
const preferFirst = "first"

// newExpressions returns the value of a flag that may be repeated: each use adds a condition.
func newExpressions(value *[]input.Condition) pflag.Value {
	return cli.NewAdding(value, "expr", func(s string) ([]input.Condition, error) {
		one, err := input.ParseCondition(s)
		return append(*value, one), err
	})
}

// newPreferences returns the value of --prefer: each use adds a preference.
func newPreferences(f *KeepFlags) pflag.Value {
	return cli.NewAdding(&f.choice.Prefer, "expr", func(s string) ([]input.Condition, error) {
		if s == preferFirst {
			f.choice.First = true
			return f.choice.Prefer, nil
		}
		one, err := input.ParseCondition(s)
		return append(f.choice.Prefer, one), err
	})
}

// checkFirst rejects further preferences with --prefer first.
func (f *KeepFlags) checkFirst() error {
	if f.choice.First && len(f.choice.Prefer) > 0 {
		return errors.New("--prefer first keeps the first of equal packets: leave out the other --prefer")
	}
	return nil
}

// Intact reports whether whole packets with the right checksums are kept before others. It
// matters for written packets, if equal packets may differ in length or checksums.
func (f *KeepFlags) Intact(c identity.Config) bool { return f.written && !f.choice.First && c.Uneven() }
