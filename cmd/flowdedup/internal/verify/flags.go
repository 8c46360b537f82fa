// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/flowdedup/flowdedup/capture/identity"
	"github.com/flowdedup/flowdedup/capture/strip"
	"github.com/flowdedup/flowdedup/capture/traits"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/analysis/verify"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/sink"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/page"
	"github.com/flowdedup/flowdedup/engine/window"
)

// flags are the flags of "flowdedup verify".
type flags struct {
	cli.Common
	cli.InputFlags
	copies    cli.CopyFlags
	within    cli.WithinFlag
	prefer    string
	tolerance time.Duration
	sort      cli.SortFlags
	slice     strip.Slice
	strip     []string
	reader    cli.Reader
	page      cli.PageFlag
}

// verifyMemory is how much memory packets take, at most, without --memory.
const verifyMemory = 1 << 30

// preferWords are the words of --prefer.
var preferWords = []string{"first"}

// usualTolerance is by how much windows above a millisecond are longer at most.
const usualTolerance = 256 * time.Nanosecond

// Command returns "flowdedup verify".
func Command(e *cli.Env) *cobra.Command {
	f := &flags{}
	cmd := &cobra.Command{
		Use:   "verify [flags] IN OUT [DUPLICATES] | IN... -- OUT [DUPLICATES]",
		Short: "Check that an output of dedup lost nothing but copies",
		Long: `Check that each packet of IN is in OUT, unchanged and in order, or is a copy of
a packet there within the window. With DUPLICATES, the file of --duplicates,
check that it has the removed packets, and no others.

The flags that say what a copy is, and those that changed packets (--strip,
--for, --slice, --sort), must be those of the run that made OUT. If OUT is
wrong with them and right with --identity inner, with some --strip, or as the
output of several inputs, then nobody knows: verify names these flags, and
calls the packets unknown, not lost.

Several inputs that were merged into OUT stand before --, or behind -r.
A folder as IN is all captures in it. A folder as OUT has a file for each of
these, and may have others.

verify does not use the filters of dedup: it compares packets byte by byte, and
looks copies up in a plain table, by keyed hashes of the Go runtime, in one
thread. It remembers packets within the window, as many as --memory holds, and
says so if they are too few.
It has its own code for --slice and --sort, and that of dedup for --strip. An
output of --mark cannot be verified.

Exit codes: 0 the output is right, 4 it is not; 3 it may be right: with other
flags, with more memory, or as far as a damaged capture goes; 1 failed, 2 wrong
usage.`,
		Example: `  # nothing lost?
  flowdedup dedup span.pcapng -w clean.pcapng --duplicates copies.pcapng
  flowdedup verify span.pcapng clean.pcapng copies.pcapng

  # with the flags of the run that made it
  flowdedup verify --across --window 50ms a.pcap b.pcap -- link.pcapng

  # a folder of files that were cleaned one to one
  flowdedup verify rot/ clean/

  # without the headers of a mirror
  flowdedup verify --identity inner --strip tunnel mirror.pcap clean.pcap

  # in a script
  flowdedup verify --quiet in.pcap out.pcap && rm in.pcap`,
		Args: func(cmd *cobra.Command, args []string) error { return f.checkNames(cmd, args) },
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, e, args) },
	}
	f.register(cmd)
	return cmd
}

func (f *flags) register(cmd *cobra.Command) {
	cli.Define(cmd,
		[]cli.Flag{f.InputFlags.Flag()},
		f.Filter.Flags(),
		f.Part.Flags(),
		[]cli.Flag{
			{Name: "no-merge", Group: cli.GroupInput, To: &f.NoMerge, Help: "inputs were read one after another, not in time order"},
		},
		f.sort.Flags(),
		f.copies.Flags(),
		[]cli.Flag{
			cli.ZoneFlag(&f.Part.Zone, cli.GroupCompare, "landmark windows, --from, --to"),
			f.within.Flag(),
			{Name: "prefer", Group: cli.GroupCompare, To: cli.NewParsed(&f.prefer, "", "which", cli.OneOfNear(preferWords)), Words: preferWords, Help: "first: a packet may have a wrong checksum and be the original of a right one, as with this flag of dedup"},
			{Name: "tolerance", Group: cli.GroupCompare, To: cli.NewParsed(&f.tolerance, "256ns above 1ms", "duration", cli.ParseDelay), Words: []string{"0", "256ns"}, Help: "by how much copies may lie outside of the window"},
			{Name: "slice", Group: cli.GroupCompare, To: cli.NewParsed(&f.slice, "", "bytes", strip.ParseSlice), Words: cli.SliceWords, Help: "OUT was cut: 96 bytes of a frame, or l4+64 behind the innermost TCP or UDP header"},
			{Name: "strip", Group: cli.GroupCompare, To: cli.NewList(&f.strip, "", "headers", cli.ParseWords(cli.StripWords)), Words: cli.StripWords, Help: "OUT lacks these headers: " + strings.Join(cli.StripWords, ", ")},
			{Name: "for", Group: cli.GroupCompare, To: cli.NewParsed(&f.reader, "", "reader", cli.ParseReader), Words: cli.ReaderNames(), Help: "OUT was written for this reader: " + strings.Join(cli.ReaderNames(), ", ")},
			{Name: "memory", Group: cli.GroupAdvanced, To: cli.NewParsed(&f.Memory, show.Bytes(verifyMemory), "size", cli.ParseMemory), Words: []string{"1GiB", "4GiB"}, Help: "memory of the run: 4GiB"},
		},
		f.PrintFlags(),
		[]cli.Flag{
			f.page.Flag("of what was found"),
			f.ProgressFlag(),
		},
	)
}

// inputs splits arguments into inputs, which it does not open, and outputs. Without -- and -r, the first
// argument is the input.
func (f *flags) inputs(cmd *cobra.Command, args []string) (in, out []string) {
	n := max(cmd.ArgsLenAtDash(), 0)
	if n == 0 && len(f.Read) == 0 {
		n = min(1, len(args))
	}
	return f.Named(args[:n]), args[n:]
}

// checkNames rejects a wrong number of captures.
func (f *flags) checkNames(cmd *cobra.Command, args []string) error {
	in, out := f.inputs(cmd, args)
	stdin := 0
	for _, name := range f.Named(args) {
		switch name {
		case "":
			return cli.Usagef("an input's name is empty")
		case "-":
			stdin++
		}
	}
	switch {
	case len(in) == 0 || len(out) < 1 || len(out) > 2:
		return cli.Usagef("verify needs IN and OUT (or IN... -- OUT), and at most DUPLICATES behind them, and got %d %s", len(args), show.Word(len(args), "name", "names"))
	case stdin > 1:
		return cli.Usagef("standard input can be read only once")
	}
	return cli.CheckExpression(args)
}

// config returns the configuration of the check.
func (f *flags) config(cmd *cobra.Command, args []string) (*config, error) {
	_, out := f.inputs(cmd, args)
	cfg := &config{Inputs: f.All(args[:len(args)-len(out)]), Output: out[0], Headers: f.strip}
	if len(out) > 1 {
		cfg.Duplicates = out[1]
	}
	if err := errors.Join((&cli.Files{Inputs: cfg.Inputs}).CheckInputs(), cli.LookUp(slices.DeleteFunc(slices.Clone(out), sink.IsFolder)...)); err != nil {
		return nil, err
	}
	if err := f.checkPage(cfg); err != nil {
		return nil, err
	}
	if err := errors.Join(cli.CheckFlags(cmd.Flags()), f.Part.Check()); err != nil {
		return nil, err
	}
	if err := f.checkWindow(cmd); err != nil {
		return nil, err
	}
	if err := f.within.Check(&f.copies); err != nil {
		return nil, err
	}
	if err := f.within.CheckInputs(cfg.Inputs); err != nil {
		return nil, err
	}
	if err := f.sort.Check(cfg.Inputs); err != nil {
		return nil, err
	}
	c, w := &f.copies, f.copies.Window
	cfg.total = cli.Remembered(cmd.Flags(), "memory", f.Memory)
	cfg.Config = verify.Config{
		Identity: c.IdentityConfig(),
		Window:   w.Duration, Packets: uint64(w.Packets), Landmark: w.Landmark, Zone: f.Part.Zone, Tolerance: f.tolerance, Across: c.Across, Refresh: c.Refresh, AnyChecksum: f.prefer != "", Unordered: f.NoMerge && len(cfg.Inputs) > 1,
		Memory: remembered(cfg.total), Slice: verify.Slice{Bytes: f.slice.Bytes, Payload: f.slice.From == strip.FromPayload},
	}
	if f.sort.Span > 0 {
		cfg.Sort = verify.Sort{Span: int64(f.sort.Span), Memory: cli.Remembered(cmd.Flags(), "sort-memory", f.sort.Memory), Sections: len(cfg.Inputs) == 1, Latest: f.sort.Latest()}
	}
	points := cli.PointsOf(f.within.Within)
	cfg.Within, cfg.Groups = points.Fields, points.Groups
	f.applyReader(cmd, cfg)
	if !cmd.Flags().Changed("tolerance") && w.Duration > window.Default && !w.Landmark {
		cfg.Tolerance = usualTolerance
	}
	return cfg, nil
}

// applyReader changes packets and copies as --for of dedup does.
func (f *flags) applyReader(cmd *cobra.Command, cfg *config) {
	if f.reader.KeysVLAN && !cmd.Flags().Changed("strip") && cfg.Within&traits.PointVLAN == 0 {
		cfg.Headers = []string{"vlan"}
	}
	if f.reader.Verifies && !cmd.Flags().Changed("ignore") && cfg.Identity.Kind != identity.Frame && !cfg.AnyChecksum {
		cfg.Identity.Ignore = identity.IgnoreAlso(identity.L4Checksum)
	}
}

// checkWindow rejects flags that have no meaning for this kind of window.
func (f *flags) checkWindow(cmd *cobra.Command) error {
	if err := cli.CheckZone(cmd.Flags(), f.copies.Window); err != nil {
		return err
	}
	if f.copies.Window.Landmark && (f.copies.Refresh || cmd.Flags().Changed("tolerance")) {
		return cli.Usagef("a landmark window ends at its boundary: it takes no --refresh and no --tolerance")
	}
	if f.copies.Window.Packets > 0 && cmd.Flags().Changed("tolerance") {
		return cli.Usagef("--tolerance is a time: give a --window of so many more packets")
	}
	return nil
}

// checkPage refuses a page that would stand between other output, or replace a capture.
func (f *flags) checkPage(cfg *config) error {
	if err := f.page.Check(&f.Common); err != nil || !f.page.Given() {
		return err
	}
	var errs []error
	for _, name := range cfg.files() { // IN may be OUT
		errs = append(errs, (&cli.Files{Outputs: []cli.NamedFile{f.page.Named()}, Inputs: []string{name}}).Check())
	}
	return errors.Join(errs...)
}

func (f *flags) run(cmd *cobra.Command, e *cli.Env, args []string) error {
	cfg, err := f.config(cmd, args)
	if err != nil {
		return err
	}
	if err := f.Filter.Load(cmd.Context()); err != nil {
		return err
	}
	e.Quiet.Store(f.Quiet)
	f.WarnPassed(e)
	bar := cli.NewProgress(e, &f.Common)
	defer bar.Close()
	cfg.Input = f.Inputs(e, bar)
	file, err := f.page.Open(cmd, cfg.files())
	if err != nil {
		return err
	}
	s, err := run(cmd.Context(), cfg)
	if err == nil && (s.Foreign > 0 || s.Lost > 0) {
		f.explain(cmd, cfg, &s)
	}
	bar.Close()
	if s.Window == "" {
		return errors.Join(err, file.Discard()) // nothing was checked
	}
	switch {
	case s.Foreign > 0 && cfg.exchanged(cmd.Context()):
		e.Warn(fmt.Errorf("IN and OUT are the wrong way round: %s is right as the output of %s", cfg.Inputs[0], cfg.Output))
	case s.Foreign > s.Kept:
		e.Warn(fmt.Errorf("hardly any packet of %s is in the input: outputs of --mark cannot be verified, and those of --strip need the same --strip", cfg.Output))
	}
	written := file.Write(true, func(of cli.Origin) *page.Page { return newPage(&s, of) })
	err = errors.Join(cli.MarkDamage(err, s.Packets+s.Filtered, s.Damaged), f.Print(e, e.Stdout, &s, func(w io.Writer, columns int) error { return writeText(w, columns, &s) }), written)
	switch {
	case s.Differences() > 0:
		err = errors.Join(err, cli.ErrDifferent)
	case !s.Same:
		err = errors.Join(err, cli.ErrUnknown)
	}
	return err
}
