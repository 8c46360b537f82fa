// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/method"
	"github.com/flowdedup/flowdedup/engine/stream"
)

// CompareFlags define which packets are copies.
type CompareFlags struct {
	cli.CopyFlags
	digest string
	params method.Params
	verify int
}

// UsualMethods are the methods for traffic.
var UsualMethods = []string{"auto", method.Timed, method.Fine, method.Coarse, "exact"}

// MeasuringMethods returns the methods that are there for experiments.
func MeasuringMethods() []string {
	return append(stream.Methods(), method.Timers)
}

// Flags returns the flags.
func (f *CompareFlags) Flags() []cli.Flag {
	return append(f.CopyFlags.Flags(),
		cli.Flag{Name: "digest", Group: cli.GroupAdvanced, To: cli.NewParsed(&f.digest, "aes", "name", cli.OneOf("aes", "highway")), Words: []string{"aes", "highway"}, Help: "keyed digest of identities: aes, highway"},
		cli.Flag{Name: "param", Group: cli.GroupAdvanced, To: cli.NewList(&f.params, "", "names", method.ParseParams), Help: "parameters of --method, as plan prints them: K=3,P=10,Max=3"},
		cli.Flag{Name: "verify-copies", Group: cli.GroupAdvanced, To: cli.NewParsed(&f.verify, "", "size", cli.ParseMemory), Words: []string{"1MiB", "64MiB"}, Not: []string{"method=exact: it compares whole digests itself"}, Help: "remove only copies of the latest packets, which a table knows: 64MiB"},
	)
}

// Check rejects flags that do not fit the method.
func (f *CompareFlags) Check(cmd *cobra.Command, c *cli.Common) error {
	switch {
	case f.IdentityBytes < 0:
		return cli.Usagef("--identity-bytes must not be negative")
	}
	if err := f.checkMeasuring(cmd, c.Method, c.FPR); err != nil {
		return cli.Usage(err)
	}
	cfg := f.Config(cmd, c)
	if err := cfg.checkMethod(); err != nil {
		return cli.Usagef("--method %s: %w", c.Method, err)
	}
	return nil
}

// checkMeasuring rejects flags that do not fit a method for experiments.
func (f *CompareFlags) checkMeasuring(cmd *cobra.Command, name string, fpr float64) error {
	stream, timers := stream.IsMethod(name), name == method.Timers
	least, coarse := method.CellsFPR(name)
	switch {
	case f.Window.Landmark && f.Refresh:
		return errors.New("--refresh makes a window slide: a landmark window takes no --refresh")
	case f.Window.Landmark && timers:
		return fmt.Errorf("--method %s has a window that slides: use --method timed for a landmark window", name)
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

// Config returns the configuration of the filter. The method chooses its false positive
// rate unless --fpr is given.
func (f *CompareFlags) Config(cmd *cobra.Command, c *cli.Common) Config {
	fpr := 0.0
	if cmd.Flags().Changed("fpr") {
		fpr = c.FPR
	}
	return Config{
		Identity: f.IdentityConfig(),
		Digest:   f.digest, Secret: c.Secret, Method: c.Method, Params: f.params, Window: f.Window, Memory: c.Memory,
		FPR: fpr, Verify: f.verify, Refresh: f.Refresh, Across: f.Across, Workers: c.Workers,
	}
}
