// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/spf13/cobra"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/page"
	"github.com/flowdedup/flowdedup/engine/sizing"
)

// flags are the flags of "flowdedup plan".
type flags struct {
	cli.Common
	config config
	page   cli.PageFlag
}

// Command returns "flowdedup plan".
func Command(e *cli.Env) *cobra.Command {
	f := &flags{}
	cmd := &cobra.Command{
		Use:   "plan [flags]",
		Short: "Choose a method, its parameters and memory for a load",
		Long: `Predict parameters, error rates and memory for a load, for the methods that
commands run by default or that bound memory, and recommend one. Text and page
show the three best that meet the request, each with its command, or the
nearest ones if none does; --all shows all. Without --memory, find the least
memory.

The load is:
  - the number of elements in the window: --elements, or --rate or --link with
    a window of time;
  - how many of them are different: --distinct, all by default (the worst
    case). Without a window this is the share of new elements.
  - how far back repeats lie: --distinct elements of a window come at random;
    without a window over orders of magnitude up to --elements (16 million).

--from measures all of this from captures, in bounded memory: in large ones it
follows a share of the elements, chosen by digest.

Windows (--kind auto): none is an unbounded stream in constant memory. A
duration is a sliding window for packets and starts again at each boundary
(landmark) for all else. n:N is the last N elements.

Windows of packets begin at a packet that was kept, as those of "dedup"; with
--refresh each copy restarts them.

FPR is the probability that a new element is taken for a repeat. FNR is the
share of the repeats within the window that are taken for new. Lines are the
cache lines that an element touches.

Methods that meet the request come first: they keep --fpr and, without
--memory, --fnr. Next come those that fit into the memory. sbf, for
measurements, and exact maps are last of each. Then the lowest FNR decides;
rates below --fnr, or within 5 % of the lowest, count as equal. Then decide the
fewest lines, the sharpest edges of windows (without --memory only where
windows may be over 1 % too long), the least memory, and the lowest FPR. If no
method meets the request, the lowest FPR goes before the lowest FNR.`,
		Example: `  # what keeps 1 % false positives in 1 MiB on a stream of flows without end?
  flowdedup plan --of flow --memory 1MiB --fpr 1%

  # packet de-duplication at 1.5 million packets a second, 10 ms window
  flowdedup plan --rate 1.5M --window 10ms

  # distinct IPv4 sources per hour on a 10 Gb/s link, 3 million of them
  flowdedup plan --of src --window 1h --link 10Gb/s --distinct 3M

  # the load of a capture, as a page with curves
  flowdedup plan --from span.pcapng --window 10ms --html plan.html`,
		Args: planArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd, e) },
	}
	f.register(cmd)
	return cmd
}

// planArguments points to --from, because other commands take inputs as arguments.
func planArguments(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return cli.Usagef("plan takes no arguments; name captures with --from")
	}
	return nil
}

func (f *flags) register(cmd *cobra.Command) {
	c := &f.config
	kinds := []string{"auto", "unbounded", "landmark", "sliding"}
	cli.Define(cmd,
		[]cli.Flag{
			{Name: "of", Group: cli.GroupLoad, To: cli.NewParsed(&c.Element, "packets", "key", parseElementKind), Words: []string{"packets", "src", "dst", "ip", "pair", "flow", "biflow", "mac"}, Help: "elements: packets, src, dst, ip, pair, flow, biflow, mac"},
			{Name: "ipv6", Group: cli.GroupLoad, To: &c.IPv6, Needs: []string{"of=src,dst,ip: the other keys are of both families"}, Help: "addresses are IPv6 addresses"},
			{Name: "window", Group: cli.GroupLoad, To: cli.NewParsed(&c.Window, "none", "window", cli.ParseWindow), Words: []string{"none", "10ms", "1h", "n:1000000"}, Help: "a duration, n:1000 elements, or none"},
			{Name: "kind", Group: cli.GroupLoad, To: cli.NewParsed(&c.Kind, "auto", "kind", cli.OneOf(kinds...)), Words: kinds, Help: "kind of window: auto, unbounded, landmark, sliding"},
			{Name: "rate", Group: cli.GroupLoad, To: cli.NewParsed(&c.Rate, "", "rate", cli.ParseAmount), Not: []string{"link elements"}, Help: "elements a second: 250k, 1.5M"},
			{Name: "link", Group: cli.GroupLoad, To: cli.NewParsed(&c.Link, "", "speed", parseLink), Not: []string{"elements"}, Help: "speed of a link full of shortest packets: 10Gb/s"},
			{Name: "elements", Group: cli.GroupLoad, To: cli.NewParsed(&c.Elements, "", "number", cli.ParseAmount), Help: "elements in the window, or how far repeats lie back"},
			{Name: "distinct", Group: cli.GroupLoad, To: cli.NewShown(&c.Distinct, "100%", "share", parseDistinct), Help: "different elements in the window: share 60%, or number 3M"},
			{Name: "refresh", Group: cli.GroupLoad, To: &c.Refresh, Help: "a removed packet restarts the window"},
			{Name: "from", Group: cli.GroupInput, To: &c.From, Help: "measure the load of capture `FILE`; may be repeated"},
		},
		f.Filter.Flags("from: captures to measure"),
		[]cli.Flag{
			{Name: "memory", Group: cli.GroupGoal, To: cli.NewParsed(&c.MemoryBits, "", "size", parseBits), Words: []string{"l1", "l2", "l3", "1MiB"}, Help: "available memory: 8MiB, l2, 16kbit (default: the least)"},
			{Name: "fpr", Group: cli.GroupGoal, To: cli.NewShown(&c.FPR, "1e-9", "probability", cli.ParseFPR), Help: "highest false positive rate: 1e-9, 1%"},
			{Name: "fnr", Group: cli.GroupGoal, To: cli.NewShown(&c.FNR, "0.01%", "share", cli.ParseFPR), Help: "false negative rate that counts as none"},
			{Name: "all", Group: cli.GroupOutput, To: &c.All, Not: []string{"json quiet"}, Help: "show all methods, not only the best that meet the request"},
			f.page.Flag("with curves over memory"),
			{Name: "json", Group: cli.GroupOutput, To: &f.JSON, Help: "print JSON, with the curves"},
			{Name: "no-merge", Group: cli.GroupInput, To: &f.NoMerge, Help: "read captures one after another, not in time order"},
			{Name: "quiet", Short: "q", Group: cli.GroupOutput, To: &f.Quiet, Help: "print errors only"},
			f.ProgressFlag(),
		},
	)
}

func (f *flags) check(cmd *cobra.Command) error {
	if err := cli.CheckFlags(cmd.Flags()); err != nil {
		return err
	}
	given := func(name string) bool { return cmd.Flags().Changed(name) }
	switch {
	case given("elements") && f.config.Window.Packets > 0:
		return cli.Usagef("--elements and --window n:N exclude each other")
	case (given("rate") || given("link")) && f.config.Window.Duration == 0:
		return cli.Usagef("--rate and --link need a window of time: --window 10ms")
	}
	if err := f.page.Check(&f.Common); err != nil {
		return err
	}
	named := cli.Files{Outputs: []cli.NamedFile{f.page.Named()}, Inputs: append(f.Filter.Files(), f.config.From...)}
	if err := named.Check(); err != nil {
		return err
	}
	return usageOf(f.config.check())
}

func (f *flags) run(cmd *cobra.Command, e *cli.Env) error {
	if err := f.check(cmd); err != nil {
		return err
	}
	e.Quiet.Store(f.Quiet)
	if err := f.Filter.Load(cmd.Context()); err != nil {
		return err
	}
	f.config.Curves = f.JSON || f.page.Given()
	file, err := f.page.Open(cmd, f.config.From)
	if err != nil {
		return err
	}
	result, err := f.answer(cmd, e)
	if result == nil {
		return errors.Join(err, file.Discard())
	}
	return errors.Join(err, f.Print(e, e.Stdout, result, func(w io.Writer, columns int) error { return writeText(w, columns, result) }),
		file.Write(true, func(cli.Origin) *page.Page { return newPage(result) }))
}

// answer measures the captures, if any, and plans. The result is nil if that is impossible. An
// error with a result is about damaged captures.
func (f *flags) answer(cmd *cobra.Command, e *cli.Env) (*result, error) {
	measured, err := f.measure(cmd, e)
	if measured == nil && err != nil {
		return nil, err
	}
	result, wrong := run(&f.config, measured)
	return result, errors.Join(err, usageOf(wrong))
}

// measure reads the captures. The measurement is nil if there are none or they are empty.
func (f *flags) measure(cmd *cobra.Command, e *cli.Env) (*measurement, error) {
	if len(f.config.From) == 0 {
		return nil, nil
	}
	bar := cli.NewProgress(e, &f.Common)
	defer bar.Close()
	f.config.Input = f.Inputs(e, bar)
	m, err := measure(cmd.Context(), &f.config)
	bar.Close()
	switch err = cli.MarkDamage(err, m.Packets+m.Filtered, m.Damaged); {
	case m.Elements > 0:
		return m, err
	case err == nil:
		err = fmt.Errorf("no %s in the captures: nothing to plan for", f.config.Element)
	}
	return nil, err
}

// usageOf turns impossible requests into usage errors.
func usageOf(err error) error {
	if errors.Is(err, sizing.ErrQuestion) {
		return cli.Usage(err)
	}
	return err
}

// parseLink reads the speed of a link in bits a second: 10Gb/s, 100Mbit/s, 10G.
func parseLink(s string) (float64, error) {
	digits := s
	for _, unit := range []string{"bit/s", "b/s", "bps"} {
		digits = strings.TrimSuffix(digits, unit)
	}
	n, err := cli.ParseAmount(digits)
	if err != nil {
		return 0, fmt.Errorf("must be a speed such as 10Gb/s or 100Mb/s")
	}
	return n, nil
}

// parseBits reads a memory as cli.ParseMemory does, or a number of bits as papers state it,
// such as 48bit or 16kbit. It returns bits.
func parseBits(s string) (int, error) {
	if digits, found := strings.CutSuffix(s, "bit"); found {
		n, err := cli.ParseAmount(digits)
		if err != nil || n < 1 || n > maxBits {
			return 0, fmt.Errorf("must be a number of bits from 1 to %d, such as 48bit or 16kbit", maxBits)
		}
		return int(n), nil
	}
	n, err := cli.ParseMemory(s)
	if err != nil {
		return 0, fmt.Errorf("%w, or a number of bits such as 48bit or 16kbit", err)
	}
	if n > maxBits/8 {
		return 0, fmt.Errorf("must be at most %s", show.Bytes(int64(maxBits)/8))
	}
	return 8 * n, nil
}

// maxBits is the largest memory to plan for: 8 TiB, less on 32-bit machines.
const maxBits = min(1<<46, math.MaxInt)

// parseDistinct reads a share, 60% or 0.6, or a number above 1, 3M.
func parseDistinct(s string) (distinct, error) {
	if share, err := cli.ParseShare(s); err == nil {
		return distinct{Share: share}, nil
	}
	n, err := cli.ParseAmount(s)
	if err != nil || n < 1 {
		return distinct{}, errors.New("must be a share such as 60% or 0.6, or a number such as 250000 or 3M")
	}
	return distinct{Count: n}, nil
}
