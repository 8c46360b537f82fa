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
	common
	inputFlags
	compare compareFlags
	within  []string
	edge    time.Duration
	sort    sortFlags
	slice   strip.Slice
}

// verifyMemory is how much memory packets take, at most, without --memory.
const verifyMemory = 1 << 30

// usualEdge is by how much windows above a millisecond are longer at most.
const usualEdge = 256 * time.Nanosecond

func newVerify(e *env) *cobra.Command {
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
	f.inputFlags.register(fs)
	f.common.filter.register(fs)
	fs.BoolVar(&f.noMerge, "no-merge", false, "inputs were read one after another, not in time order")
	groupInput.add(fs, "no-merge")
	f.sort.register(fs)
	f.compare.registerCopies(fs)
	fs.Var(newList(&f.within, "", "points", parseWords(withinWords)), "within", "copies come from the same only: "+strings.Join(withinWords, ", "))
	fs.Var(newParsed(&f.edge, "256ns above 1ms", "duration", parseDelay), "edge", "by how much copies may lie outside of the window")
	fs.Var(newParsed(&f.slice, "", "bytes", strip.ParseSlice), "slice", "OUT was cut: 96 bytes of a frame, or l4+64 behind the innermost TCP or UDP header")
	groupCompare.add(fs, "within", "edge", "slice")
	f.memory = verifyMemory
	fs.Var(newParsed(&f.memory, show.Bytes(verifyMemory), "size", parseMemory), "memory", "memory for packets: 4GiB")
	fs.BoolVarP(&f.quiet, "quiet", "q", false, "print errors only")
	fs.BoolVar(&f.json, "json", false, "print JSON")
	fs.BoolVar(&f.noProgress, "no-progress", false, "show no progress on a terminal")
	groupOutput.add(fs, "json", "quiet")
	groupAdvanced.add(fs, "memory", "no-progress")
	completeWords(cmd, map[string][]string{
		"filter": filterWords, "window": {"1ms", "100ms", "1s", "n:1000000", "none"}, "memory": {"1GiB", "4GiB"},
		"identity": {"frame", "l3", "inner"}, "ignore": append(strings.Split(flow.FieldNames(), ", "), "none"), "within": withinWords,
		"edge": {"0", "256ns"}, "slice": sliceWords, "sort": sortWords,
	})
}

// checkNames rejects a wrong number of captures. With -r, arguments name outputs alone.
func (f *verifyFlags) checkNames(args []string) error {
	least := 2
	if len(f.read) > 0 {
		least = 1
	}
	stdin := 0
	for _, name := range f.all(args) {
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
	return checkExpression(args)
}

// config returns what to check.
func (f *verifyFlags) config(cmd *cobra.Command, args []string) (*verify.Config, error) {
	cfg := &verify.Config{Inputs: f.read}
	if len(f.read) == 0 {
		cfg.Inputs, args = args[:1], args[1:]
	}
	cfg.Output = args[0]
	if len(args) > 1 {
		cfg.Duplicates = args[1]
	}
	if err := errors.Join((&files{inputs: cfg.Inputs}).checkInputs(), lookUp(cfg.Output, cfg.Duplicates)); err != nil {
		return nil, err
	}
	keep := keepFlags{within: f.within}
	if err := keep.check(cmd.Flags(), &f.compare, "", false); err != nil {
		return nil, err
	}
	if err := keep.checkInputs(cfg.Inputs); err != nil {
		return nil, err
	}
	if err := f.sort.check(cmd.Flags(), cfg.Inputs); err != nil {
		return nil, err
	}
	c, w := &f.compare, f.compare.window
	cfg.Config = verifier.Config{
		Identity: c.identityConfig(),
		Window:   w.Duration, Packets: uint64(w.Packets), Edge: f.edge, Across: c.across, Refresh: c.refresh,
		Memory: remembered(cmd.Flags(), "memory", f.memory), Slice: verifier.Slice{Bytes: f.slice.Bytes, Payload: f.slice.From == strip.FromPayload},
	}
	if f.sort.span > 0 {
		cfg.Sort = verifier.Sort{Span: int64(f.sort.span), Memory: remembered(cmd.Flags(), "sort-memory", f.sort.memory), Sections: len(cfg.Inputs) == 1, Latest: f.sort.latest()}
	}
	for _, name := range f.within {
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

func (f *verifyFlags) run(cmd *cobra.Command, e *env, args []string) error {
	cfg, err := f.config(cmd, args)
	if err != nil {
		return err
	}
	if err := f.filter.load(); err != nil {
		return err
	}
	e.quiet = f.quiet
	bar := newProgress(e, &f.common)
	defer bar.close()
	cfg.Input = f.inputs(e, bar)
	s, err := verify.Run(cmd.Context(), cfg)
	bar.close()
	if s.Window == "" {
		return err // nothing was checked
	}
	err = errors.Join(markDamage(err, s.Packets+s.Filtered, s.Damaged), f.print(e, &s))
	if !s.Same {
		err = errors.Join(err, errDifferent)
	}
	return err
}

func (f *verifyFlags) print(e *env, s *verify.Summary) error {
	switch {
	case f.json:
		return report.VerifyJSON(e.stdout, s)
	case f.quiet:
		return nil
	}
	return report.VerifyText(e.stdout, s)
}
