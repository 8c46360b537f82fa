// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/input"
	"github.com/flowdedup/flowdedup/engine/secret"
)

// Common are the flags of every command on packets.
type Common struct {
	Memory     int
	FPR        float64
	Secret     secret.Secret
	Method     string
	JSON       bool
	Quiet      bool
	NoProgress bool
	NoMerge    bool
	Workers    int
	Filter     FilterFlags
}

// Register adds the flags. The usual methods are for traffic, the measuring ones for
// experiments.
func (c *Common) Register(f *pflag.FlagSet, usual []string, measuring ...string) {
	c.Filter.Register(f)
	c.RegisterFilter(f, usual, measuring...)
	f.BoolVar(&c.NoMerge, "no-merge", false, "read inputs one after another, not in time order")
	c.RegisterRun(f)
	f.BoolVar(&c.NoProgress, "no-progress", false, "show no progress on a terminal")
	GroupInput.Add(f, "no-merge")
	GroupAdvanced.Add(f, "no-progress")
}

// RegisterFilter adds the flags of the filter. The measuring methods are there for
// experiments; no traffic needs them.
func (c *Common) RegisterFilter(f *pflag.FlagSet, usual []string, measuring ...string) {
	usage := "filter method: " + strings.Join(usual, ", ")
	if len(measuring) > 0 {
		usage += "; to be measured (all but timers and apbf with --window none): " + strings.Join(measuring, ", ")
	}
	c.Method = "auto"
	c.FPR = DefaultFPR
	f.Var(NewParsed(&c.Method, "auto", "method", OneOf(slices.Concat(usual, measuring)...)), "method", usage)
	f.Var(NewParsed(&c.Memory, "", "size", ParseMemory), "memory", "filter memory: 8MiB, 64M, l1, l2, l3 (default: as needed)")
	f.Var(NewParsed(&c.FPR, "1e-9", "probability", ParseFPR), "fpr", "highest false positive rate")
	f.Var(NewParsed(&c.Secret, "", "hex", secret.Parse), "key", "secret key, 32 bytes in hex (default: random)")
	GroupAdvanced.Add(f, "method", "memory", "fpr", "key")
}

// RegisterRun adds the flags of how a command runs and prints.
func (c *Common) RegisterRun(f *pflag.FlagSet) {
	c.Workers = defaultWorkers()
	f.Var(NewParsed(&c.Workers, "0", "N", parseWorkers), "workers", "number of threads; the result does not depend on it (0: one per processor)")
	f.BoolVar(&c.JSON, "json", false, "print JSON")
	f.BoolVarP(&c.Quiet, "quiet", "q", false, "print errors only")
	GroupOutput.Add(f, "json", "quiet")
	GroupAdvanced.Add(f, "workers")
}

// DefaultFPR is that of --fpr.
const DefaultFPR = 1e-9

// Finish loads the filter program, and draws a random key if none was given.
func (c *Common) Finish(f *pflag.FlagSet) error {
	if err := c.Filter.Load(); err != nil {
		return err
	}
	if f.Changed("key") {
		return nil
	}
	secret, err := secret.Random()
	if err != nil {
		return fmt.Errorf("make a random key: %w", err)
	}
	c.Secret = secret
	return nil
}

// Keys returns what keys the digests of packets, and hashes of where they were seen.
func (c *Common) Keys() (key [16]byte, seed uint64) {
	sightings := c.Secret.AESKey(secret.Sightings)
	return c.Secret.AESKey(secret.Packets), binary.LittleEndian.Uint64(sightings[:])
}

// Inputs returns how to read inputs.
func (c *Common) Inputs(e *Env, bar *Progress) input.Options {
	return input.Options{NoMerge: c.NoMerge, Filter: c.Filter.Wanted, Wrap: e.Wrap, Warn: e.Warn, Progress: bar.Update}
}
