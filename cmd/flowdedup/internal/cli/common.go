// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/flowdedup/flowdedup/capture/flow"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/dedup"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/input"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/method"
	"github.com/flowdedup/flowdedup/engine/secret"
	"github.com/flowdedup/flowdedup/engine/stream"
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
	return input.Options{NoMerge: c.NoMerge, Filter: c.Filter.wanted, Wrap: e.Wrap, Warn: e.Warn, Progress: bar.Update}
}

// compareFlags define which packets are copies.
type compareFlags struct {
	CopyFlags
	digest string
	params method.Params
}

// usualMethods are the methods for traffic; measuringMethods are there for experiments.
var usualMethods = []string{"auto", method.Timed, method.Fine, method.Coarse, "exact"}

func measuringMethods() []string {
	return append(stream.Methods(), method.Timers, method.Partitioned)
}

func (f *compareFlags) register(fs *pflag.FlagSet) {
	f.CopyFlags.Register(fs)
	fs.Var(NewParsed(&f.digest, "aes", "name", OneOf("aes", "highway")), "digest", "keyed digest of identities: aes, highway")
	f.digest = "aes"
	fs.Var(NewList(&f.params, "", "names", method.ParseParams), "param", "parameters of --method, as plan prints them: K=3,P=10,Max=3")
	GroupAdvanced.Add(fs, "digest", "param")
}

// completeCompare lets the shell complete the values of these flags and of the filter's
// flags.
func completeCompare(cmd *cobra.Command) {
	CompleteWords(cmd, map[string][]string{
		"identity": {"frame", "l3", "inner"}, "digest": {"aes", "highway"},
		"ignore": append(strings.Split(flow.FieldNames(), ", "), "none"),
		"method": slices.Concat(usualMethods, measuringMethods()), "window": {"1ms", "100ms", "1s", "n:1000000", "none"},
		"memory": {"l1", "l2", "l3", "64MiB", "1GiB"},
	})
}

func (f *compareFlags) check(cmd *cobra.Command, c *Common) error {
	switch {
	case f.IdentityBytes < 0:
		return &usageError{errors.New("--identity-bytes must not be negative")}
	case c.Method == "exact" && c.Memory != 0:
		return &usageError{errors.New("--memory has no meaning with --method exact, which takes what it needs")}
	}
	if err := f.checkMeasuring(cmd, c.Method, c.FPR); err != nil {
		return &usageError{err}
	}
	cfg := f.config(cmd, c)
	if err := cfg.CheckMethod(); err != nil {
		return &usageError{fmt.Errorf("--method %s: %w", c.Method, err)}
	}
	return nil
}

// checkMeasuring rejects flags that do not fit a method for experiments.
func (f *compareFlags) checkMeasuring(cmd *cobra.Command, name string, fpr float64) error {
	stream, timers := stream.IsMethod(name), name == method.Timers || name == method.Partitioned
	least, coarse := method.CellsFPR(name)
	switch {
	case coarse && f.Window.None:
		return fmt.Errorf("--method %s needs a window of time or of packets: --window 1ms or n:1000", name)
	case coarse && f.Across:
		return fmt.Errorf("--method %s does not know where packets were seen: it takes no --across", name)
	case coarse && cmd.Flags().Changed("fpr") && fpr < least:
		return fmt.Errorf("--method %s has a false positive rate of %.2g: it needs --fpr of at least that, or none", name, least)
	case stream && !f.Window.None:
		return fmt.Errorf("--method %s remembers recent packets without a window: it needs --window none", name)
	case stream && (f.Across || f.Refresh):
		return fmt.Errorf("--method %s knows neither where nor when packets were seen: it takes no --across and no --refresh", name)
	case timers && f.Window.None:
		return fmt.Errorf("--method %s needs a window of time or of packets: --window 1ms or n:1000", name)
	case timers && f.Across:
		return fmt.Errorf("--method %s does not know where packets were seen: it takes no --across", name)
	case timers && cmd.Flags().Changed("fpr"):
		return fmt.Errorf("--method %s keeps no rate of false positives: it follows from --memory, --param and the traffic", name)
	}
	return nil
}

// config returns the configuration of the filter. The method chooses its false positive
// rate unless the user gave one.
func (f *compareFlags) config(cmd *cobra.Command, c *Common) dedup.Config {
	fpr := 0.0
	if cmd.Flags().Changed("fpr") {
		fpr = c.FPR
	}
	return dedup.Config{
		Identity: f.IdentityConfig(),
		Digest:   f.digest, Secret: c.Secret, Method: c.Method, Params: f.params, Window: f.Window, Memory: c.Memory,
		FPR: fpr, Refresh: f.Refresh, Across: f.Across, Workers: c.Workers,
	}
}
