package cli

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/flowdedup/flowdedup/capture/flow"
	"github.com/flowdedup/flowdedup/capture/strip"
	verifier "github.com/flowdedup/flowdedup/capture/verify"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/report"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/verify"
	"github.com/flowdedup/flowdedup/engine/window"
)

// verifyFlags are the flags of "flowdedup verify".
type verifyFlags struct {
	Common
	InputFlags
	copies CopyFlags
	within WithinFlag
	edge   time.Duration
	sort   SortFlags
	slice  strip.Slice
}

// verifyMemory is how much memory packets take, at most, without --memory.
const verifyMemory = 1 << 30

// usualEdge is by how much windows above a millisecond are longer at most.
const usualEdge = 256 * time.Nanosecond

func NewVerify(e *Env) *cobra.Command {
	f := &verifyFlags{}
	cmd := &cobra.Command{
		Use:   "verify [flags] IN OUT [DUPLICATES]",
		Short: "Check that an output of dedup lost nothing but copies",
		Long: `Check that each packet of IN is in OUT, unchanged and in order, or is a copy of
a packet there within the window. With DUPLICATES, the file of --duplicates,
check that it has the removed packets, and no others.

The flags that say what a copy is must be those of the run that made OUT.
Several inputs that were merged into OUT are given with -r. verify does not
use the filters of dedup: it compares packets byte by byte, and looks copies up
by SHA-256 in a plain map, in one thread. It remembers the latest packets, as
many as --memory holds, and says so if they are too few.

Packets that --strip or --mark changed are different packets. Of an output that
was cut or sorted, verify needs to know --slice and --sort. It has its own code
for both.

Exit codes: 0 the output is right, 4 it is not, or memory was too small to
tell; 3 a capture is damaged and the rest is right, 1 failed, 2 wrong usage.`,
		Example: `  # nothing lost?
  flowdedup dedup span.pcapng -w clean.pcapng --duplicates copies.pcapng
  flowdedup verify span.pcapng clean.pcapng copies.pcapng

  # with the flags of the run that made it
  flowdedup verify --across --window 50ms -r tap-a.pcap -r tap-b.pcap link.pcapng

  # in a script
  flowdedup verify --quiet in.pcap out.pcap && rm in.pcap`,
		Args: func(_ *cobra.Command, args []string) error { return f.checkNames(args) },
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, e, args) },
	}
	f.register(cmd)
	return cmd
}

func (f *verifyFlags) register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.SortFlags = false
	f.InputFlags.Register(fs)
	f.Common.Filter.Register(fs)
	fs.BoolVar(&f.NoMerge, "no-merge", false, "inputs were read one after another, not in time order")
	GroupInput.Add(fs, "no-merge")
	f.sort.Register(fs)
	f.copies.Register(fs)
	f.within.Register(fs)
	fs.Var(NewParsed(&f.edge, "256ns above 1ms", "duration", ParseDelay), "edge", "by how much copies may lie outside of the window")
	fs.Var(NewParsed(&f.slice, "", "bytes", strip.ParseSlice), "slice", "OUT was cut: 96 bytes of a frame, or l4+64 behind the innermost TCP or UDP header")
	GroupCompare.Add(fs, "edge", "slice")
	f.Memory = verifyMemory
	fs.Var(NewParsed(&f.Memory, show.Bytes(verifyMemory), "size", ParseMemory), "memory", "memory for packets: 4GiB")
	fs.BoolVarP(&f.Quiet, "quiet", "q", false, "print errors only")
	fs.BoolVar(&f.JSON, "json", false, "print JSON")
	fs.BoolVar(&f.NoProgress, "no-progress", false, "show no progress on a terminal")
	GroupOutput.Add(fs, "json", "quiet")
	GroupAdvanced.Add(fs, "memory", "no-progress")
	CompleteWords(cmd, map[string][]string{
		"filter": FilterWords, "window": {"1ms", "100ms", "1s", "n:1000000", "none"}, "memory": {"1GiB", "4GiB"},
		"identity": {"frame", "l3", "inner"}, "ignore": append(strings.Split(flow.FieldNames(), ", "), "none"), "within": WithinWords,
		"edge": {"0", "256ns"}, "slice": SliceWords, "sort": SortWords,
	})
}

// checkNames rejects a wrong number of captures. With -r, arguments name outputs alone.
func (f *verifyFlags) checkNames(args []string) error {
	least := 2
	if len(f.Read) > 0 {
		least = 1
	}
	stdin := 0
	for _, name := range f.All(args) {
		switch name {
		case "":
			return &usageError{errors.New("an input's name is empty")}
		case "-":
			stdin++
		}
	}
	switch {
	case len(args) < least || len(args) > least+1:
		return &usageError{fmt.Errorf("verify needs IN and OUT (or -r IN... and OUT), and at most DUPLICATES behind them, and got %d names", len(args))}
	case stdin > 1:
		return &usageError{errors.New("standard input can be read only once")}
	}
	return CheckExpression(args)
}

// config returns what to check.
func (f *verifyFlags) config(cmd *cobra.Command, args []string) (*verify.Config, error) {
	cfg := &verify.Config{Inputs: f.Read}
	if len(f.Read) == 0 {
		cfg.Inputs, args = args[:1], args[1:]
	}
	cfg.Output = args[0]
	if len(args) > 1 {
		cfg.Duplicates = args[1]
	}
	if err := errors.Join((&Files{Inputs: cfg.Inputs}).CheckInputs(), LookUp(cfg.Output, cfg.Duplicates)); err != nil {
		return nil, err
	}
	if err := f.within.Check(&f.copies); err != nil {
		return nil, err
	}
	if err := f.within.CheckInputs(cfg.Inputs); err != nil {
		return nil, err
	}
	if err := f.sort.Check(cmd.Flags(), cfg.Inputs); err != nil {
		return nil, err
	}
	c, w := &f.copies, f.copies.Window
	cfg.Config = verifier.Config{
		Identity: c.IdentityConfig(),
		Window:   w.Duration, Packets: uint64(w.Packets), Edge: f.edge, Across: c.Across, Refresh: c.Refresh,
		Memory: Remembered(cmd.Flags(), f.Memory), Slice: verifier.Slice{Bytes: f.slice.Bytes, Payload: f.slice.From == strip.FromPayload},
	}
	if f.sort.Span > 0 {
		cfg.Sort = verifier.Sort{Span: int64(f.sort.Span), Memory: f.sort.Memory, Sections: len(cfg.Inputs) == 1, Latest: f.sort.Latest()}
	}
	for _, name := range f.within.Within {
		field, err := flow.ParsePointField(name)
		if err != nil {
			return nil, &usageError{err}
		}
		cfg.Within |= field
	}
	if !cmd.Flags().Changed("edge") && w.Duration > window.Default {
		cfg.Edge = usualEdge
	}
	return cfg, nil
}

func (f *verifyFlags) run(cmd *cobra.Command, e *Env, args []string) error {
	cfg, err := f.config(cmd, args)
	if err != nil {
		return err
	}
	if err := f.Filter.Load(); err != nil {
		return err
	}
	e.Quiet = f.Quiet
	bar := NewProgress(e, &f.Common)
	defer bar.Close()
	cfg.Input = f.Inputs(e, bar)
	s, err := verify.Run(cmd.Context(), cfg)
	bar.Close()
	if s.Window == "" {
		return err // nothing was checked
	}
	err = errors.Join(MarkDamage(err, s.Packets+s.Filtered, s.Damaged), f.print(e, &s))
	if !s.Same {
		err = errors.Join(err, ErrDifferent)
	}
	return err
}

func (f *verifyFlags) print(e *Env, s *verify.Summary) error {
	switch {
	case f.JSON:
		return report.VerifyJSON(e.Stdout, s)
	case f.Quiet:
		return nil
	}
	return report.VerifyText(e.Stdout, s)
}
