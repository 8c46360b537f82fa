// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/flowdedup/flowdedup/capture/strip"
	"github.com/flowdedup/flowdedup/capture/verify"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/page"
	"github.com/flowdedup/flowdedup/engine/window"
)

// flags are the flags of "flowdedup verify".
type flags struct {
	cli.Common
	cli.InputFlags
	copies    cli.CopyFlags
	zone      *time.Location
	within    cli.WithinFlag
	prefer    string
	tolerance time.Duration
	sort      cli.SortFlags
	slice     strip.Slice
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
		Use:   "verify [flags] IN OUT [DUPLICATES]",
		Short: "Check that an output of dedup lost nothing but copies",
		Long: `Check that each packet of IN is in OUT, unchanged and in order, or is a copy of
a packet there within the window. With DUPLICATES, the file of --duplicates,
check that it has the removed packets, and no others.

The flags that say what a copy is must be those of the run that made OUT.
Several inputs that were merged into OUT are given with -r. verify does not
use the filters of dedup: it compares packets byte by byte, and looks copies up
by SHA-256 in a plain table, in one thread. It remembers packets within the window,
as many as --memory holds, and says so if they are too few.

Packets that --strip or --mark changed are different packets. For an output
that was cut or sorted, give --slice and --sort. verify has its own code for
both.

Exit codes: 0 the output is right, 4 it is not, or memory was too small to
decide; 3 a capture is damaged and the rest is right, 1 failed, 2 wrong usage.`,
		Example: `  # nothing lost?
  flowdedup dedup span.pcapng -w clean.pcapng --duplicates copies.pcapng
  flowdedup verify span.pcapng clean.pcapng copies.pcapng

  # with the flags of the run that made it
  flowdedup verify --across --window 50ms -r a.pcap -r b.pcap link.pcapng

  # in a script
  flowdedup verify --quiet in.pcap out.pcap && rm in.pcap`,
		Args: func(_ *cobra.Command, args []string) error { return f.checkNames(args) },
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, e, args) },
	}
	f.register(cmd)
	return cmd
}

func (f *flags) register(cmd *cobra.Command) {
	f.Memory = verifyMemory
	cli.Define(cmd,
		[]cli.Flag{
			f.InputFlags.Flag(),
		},
		f.Filter.Flags(),
		[]cli.Flag{
			{Name: "no-merge", Group: cli.GroupInput, To: &f.NoMerge, Help: "inputs were read one after another, not in time order"},
		},
		f.sort.Flags(),
		f.copies.Flags(),
		[]cli.Flag{
			cli.ZoneFlag(&f.zone, cli.GroupCompare, "landmark windows"),
			f.within.Flag(),
			{Name: "prefer", Group: cli.GroupCompare, To: cli.NewParsed(&f.prefer, "", "which", cli.OneOfNear(preferWords)), Words: preferWords, Help: "first: a packet may have a wrong checksum and be the original of a right one, as with this flag of dedup"},
			{Name: "tolerance", Group: cli.GroupCompare, To: cli.NewParsed(&f.tolerance, "256ns above 1ms", "duration", cli.ParseDelay), Words: []string{"0", "256ns"}, Help: "by how much copies may lie outside of the window"},
			{Name: "slice", Group: cli.GroupCompare, To: cli.NewParsed(&f.slice, "", "bytes", strip.ParseSlice), Words: cli.SliceWords, Help: "OUT was cut: 96 bytes of a frame, or l4+64 behind the innermost TCP or UDP header"},
			{Name: "memory", Group: cli.GroupAdvanced, To: cli.NewParsed(&f.Memory, show.Bytes(verifyMemory), "size", cli.ParseMemory), Words: []string{"1GiB", "4GiB"}, Help: "memory of the run: 4GiB"},
		},
		f.PrintFlags(),
		[]cli.Flag{
			f.page.Flag("of what was found"),
			f.ProgressFlag(),
		},
	)
}

// checkNames rejects a wrong number of captures. With -r, arguments name only outputs.
func (f *flags) checkNames(args []string) error {
	least := 2
	if len(f.Read) > 0 {
		least = 1
	}
	stdin := 0
	for _, name := range f.All(args) {
		switch name {
		case "":
			return cli.Usagef("an input's name is empty")
		case "-":
			stdin++
		}
	}
	switch {
	case len(args) < least || len(args) > least+1:
		return cli.Usagef("verify needs IN and OUT (or -r IN... and OUT), and at most DUPLICATES behind them, and got %d %s", len(args), show.Word(len(args), "name", "names"))
	case stdin > 1:
		return cli.Usagef("standard input can be read only once")
	}
	return cli.CheckExpression(args)
}

// config returns the configuration of the check.
func (f *flags) config(cmd *cobra.Command, args []string) (*config, error) {
	cfg := &config{Inputs: f.Read}
	if len(f.Read) == 0 {
		cfg.Inputs, args = args[:1], args[1:]
	}
	cfg.Output = args[0]
	if len(args) > 1 {
		cfg.Duplicates = args[1]
	}
	if err := errors.Join((&cli.Files{Inputs: cfg.Inputs}).CheckInputs(), cli.LookUp(cfg.Output, cfg.Duplicates)); err != nil {
		return nil, err
	}
	if err := f.checkPage(cfg); err != nil {
		return nil, err
	}
	if err := cli.CheckFlags(cmd.Flags()); err != nil {
		return nil, err
	}
	if err := f.checkLandmark(cmd); err != nil {
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
		Window:   w.Duration, Packets: uint64(w.Packets), Landmark: w.Landmark, Zone: f.zone, Tolerance: f.tolerance, Across: c.Across, Refresh: c.Refresh, AnyChecksum: f.prefer != "", Unordered: f.NoMerge && len(cfg.Inputs) > 1,
		Memory: remembered(cfg.total), Slice: verify.Slice{Bytes: f.slice.Bytes, Payload: f.slice.From == strip.FromPayload},
	}
	if f.sort.Span > 0 {
		cfg.Sort = verify.Sort{Span: int64(f.sort.Span), Memory: cli.Remembered(cmd.Flags(), "sort-memory", f.sort.Memory), Sections: len(cfg.Inputs) == 1, Latest: f.sort.Latest()}
	}
	points := cli.PointsOf(f.within.Within)
	cfg.Within, cfg.Groups = points.Fields, points.Groups
	if !cmd.Flags().Changed("tolerance") && w.Duration > window.Default && !w.Landmark {
		cfg.Tolerance = usualTolerance
	}
	return cfg, nil
}

// checkLandmark rejects flags that have no meaning for this kind of window.
func (f *flags) checkLandmark(cmd *cobra.Command) error {
	if err := cli.CheckZone(cmd.Flags(), f.copies.Window); err != nil {
		return err
	}
	if f.copies.Window.Landmark && (f.copies.Refresh || cmd.Flags().Changed("tolerance")) {
		return cli.Usagef("a landmark window ends at its boundary: it takes no --refresh and no --tolerance")
	}
	return nil
}

// checkPage refuses a page that would stand between other output, or replace a capture.
func (f *flags) checkPage(cfg *config) error {
	if err := f.page.Check(&f.Common); err != nil {
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
	bar := cli.NewProgress(e, &f.Common)
	defer bar.Close()
	cfg.Input = f.Inputs(e, bar)
	file, err := f.page.Open(cmd, cfg.files())
	if err != nil {
		return err
	}
	s, err := run(cmd.Context(), cfg)
	bar.Close()
	if s.Window == "" {
		return errors.Join(err, file.Discard()) // nothing was checked
	}
	if s.Foreign > s.Kept {
		e.Warn(fmt.Errorf("hardly any packet of %s is in the input: outputs of --strip, of --for suricata and of --mark cannot be verified", cfg.Output))
	}
	written := file.Write(func(of cli.Origin) *page.Page { return newPage(&s, of) })
	err = errors.Join(cli.MarkDamage(err, s.Packets+s.Filtered, s.Damaged), f.Print(e, e.Stdout, &s, func(w io.Writer, columns int) error { return writeText(w, columns, &s) }), written)
	if !s.Same {
		err = errors.Join(err, cli.ErrDifferent)
	}
	return err
}
