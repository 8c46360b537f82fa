// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/input"
	"github.com/flowdedup/flowdedup/engine"
)

// Common are the flags of every command on packets.
type Common struct {
	Memory     int
	FPR        float64
	Secret     engine.Secret
	Method     string
	JSON       bool
	Quiet      bool
	NoProgress bool
	NoMerge    bool
	Workers    int
	Filter     filterFlags
	Part       PartFlags
}

// Flags returns the flags. The usual methods are for traffic, the measuring methods for
// experiments.
func (c *Common) Flags(usual []string, measuring ...string) []Flag {
	return slices.Concat(c.Filter.Flags(), c.Part.Flags(), c.MethodFlags(usual, measuring...), []Flag{c.MergeFlag()}, c.RunFlags(), []Flag{c.ProgressFlag()})
}

// MergeFlag returns the flag of captures that are not merged.
func (c *Common) MergeFlag() Flag {
	return Flag{Name: "no-merge", Group: GroupInput, To: &c.NoMerge, Not: []string{"interface: it is for captures"}, Help: "read inputs one after another, not in time order"}
}

// ProgressFlag returns the flag of runs without progress.
func (c *Common) ProgressFlag() Flag {
	return Flag{Name: "no-progress", Group: GroupAdvanced, To: &c.NoProgress, Help: "show no progress on a terminal"}
}

// MethodFlags returns the flags of the filter. The measuring methods are there for
// experiments; no traffic needs them.
func (c *Common) MethodFlags(usual []string, measuring ...string) []Flag {
	all := slices.Concat(usual, measuring)
	usage := "filter method: " + strings.Join(usual, ", ")
	if len(measuring) > 0 {
		usage += "; to be measured (all but timers with --window none): " + strings.Join(measuring, ", ")
	}
	var unlimited []string // methods that no memory limits
	for _, one := range []struct{ method, why string }{{"exact", "it takes what it needs"}, {"sketch", "it takes 16 KiB for each number"}} {
		if slices.Contains(all, one.method) {
			unlimited = append(unlimited, "method="+one.method+": "+one.why)
		}
	}
	return []Flag{
		{Name: "method", Group: GroupAdvanced, To: NewParsed(&c.Method, "auto", "method", OneOf(all...)), Words: all, Help: usage},
		{Name: "memory", Group: GroupAdvanced, To: NewParsed(&c.Memory, "", "size", ParseMemory), Words: []string{"l1", "l2", "l3", "64MiB", "1GiB"}, Not: unlimited, Help: "filter memory: 8MiB, 64M, l1, l2, l3 (default: as needed)"},
		{Name: "fpr", Group: GroupAdvanced, To: NewParsed(&c.FPR, "1e-9", "probability", ParseFPR), Help: "highest false positive rate"},
		{Name: "key", Group: GroupAdvanced, To: NewParsed(&c.Secret, "", "hex", engine.ParseSecret), Help: "secret key, 32 bytes in hex (default: random)"},
	}
}

// RunFlags returns the flags of how a command runs and prints.
func (c *Common) RunFlags() []Flag {
	return append([]Flag{
		{Name: "workers", Group: GroupAdvanced, To: NewParsed(&c.Workers, "0", "N", parseWorkers), Help: "number of threads; the result does not depend on it (0: one per processor)"},
	}, c.PrintFlags()...)
}

// PrintFlags returns the flags for a command's output.
func (c *Common) PrintFlags() []Flag {
	return []Flag{
		{Name: "json", Group: GroupOutput, To: &c.JSON, Help: "print JSON"},
		{Name: "quiet", Short: "q", Group: GroupOutput, To: &c.Quiet, Help: "print errors only"},
	}
}

// Print prints a summary to w: with --json as one object on one line, with --quiet nothing, else
// text writes it for a terminal of the given width.
func (c *Common) Print(e *Env, w io.Writer, summary any, text func(w io.Writer, columns int) error) error {
	switch {
	case c.JSON:
		return json.NewEncoder(w).Encode(summary)
	case c.Quiet:
		return nil
	}
	return text(w, e.Columns(w))
}

// DefaultFPR is the default of --fpr.
const DefaultFPR = 1e-9

// Finish loads the filter program, and draws a random key if none was given.
func (c *Common) Finish(cmd *cobra.Command) error {
	if err := c.Filter.Load(cmd.Context()); err != nil {
		return err
	}
	if cmd.Flags().Changed("key") {
		return nil
	}
	secret, err := engine.RandomSecret()
	if err != nil {
		return fmt.Errorf("make a random key: %w", err)
	}
	c.Secret = secret
	return nil
}

// Keys returns the keys of packets' digests and of the hashes of their capture points.
func (c *Common) Keys() (key [16]byte, seed uint64) {
	sightings := c.Secret.AESKey(engine.UseSightings)
	return c.Secret.AESKey(engine.UsePackets), binary.LittleEndian.Uint64(sightings[:])
}

// Inputs returns how to read inputs.
func (c *Common) Inputs(e *Env, bar *Progress) input.Options {
	return input.Options{NoMerge: c.NoMerge, Filter: c.Filter.Wanted, Part: c.Part.part(), Wrap: e.Wrap, Warn: e.Warn, Progress: bar.Update}
}

// MismatchFlag is the value of --state-mismatch.
type MismatchFlag string

// mismatches are the values of --state-mismatch.
var mismatches = []string{"refuse", "begin"}

// Flag returns the flag.
func (m *MismatchFlag) Flag() Flag {
	word := (*string)(m)
	*word = mismatches[0]
	return Flag{Name: "state-mismatch", Group: GroupAdvanced, To: NewParsed(word, *word, "what", OneOf(mismatches...)), Words: mismatches, Help: "if the saved state has other settings: refuse to run, or begin anew and rename the state"}
}

// Begins reports whether a run begins anew.
func (m MismatchFlag) Begins() bool { return string(m) == mismatches[1] }
