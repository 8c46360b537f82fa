// SPDX-License-Identifier: Apache-2.0

package distinct

import (
	"errors"
	"fmt"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/keys"
	"github.com/flowdedup/flowdedup/capture/outfile"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/count"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
	"github.com/flowdedup/flowdedup/engine/distinct/windows"
)

// The range of NewScalableBloom.
const minDistinctFPR, maxDistinctFPR = 1e-18, 0.5

// flags are the flags of "flowdedup distinct".
type flags struct {
	cli.Common
	named cli.InputFlags
	net   cli.NetFlags
	cli.KeyFlags
	slide   time.Duration
	inner   bool
	tunnels *headers.Tunnels
	list    bool
	csv     string
	page    cli.PageFlag

	total, changes, gaps bool
	top                  cli.TopFlags
	save                 cli.SaveFlags
	merge, overlap       bool
}

// Command returns "flowdedup distinct".
func Command(e *cli.Env) *cobra.Command {
	f := &flags{}
	cmd := &cobra.Command{
		Use:   "distinct [flags] INPUT...",
		Short: "Count distinct addresses and flows per hour",
		Long: `Count the distinct source and destination addresses, flows and other keys of
pcap and pcapng captures per hour, or per --every. Windows are aligned to the
clock. --every none makes one window of all inputs. With --slide 1m the window
slides: the past hour is reported at each full minute of packet time.

- is standard input. Several inputs are merged in time order. tcp://HOST:PORT
is an input to connect to, tcp-listen://:PORT one that others connect to.

Keys:
  src, dst      source, destination address
  ip            address at either end
  pair          source and destination address
  flow, biflow  five-tuple, in one direction or either
  mac           hardware address of a station

Addresses are those of the outermost IP header; --inner opens tunnels first.

Methods:
  auto   Counts IPv4 addresses exactly, and other keys by 64 bits of a digest.
         Among a billion keys a new one is taken for a known one once in
         10^10. Addresses counted together with flow, biflow or pair are then
         missed with it.
  bloom  Counts IPv4 addresses exactly, and other keys with a Bloom filter that
         grows. It takes less memory and keeps --fpr.
  exact  Counts all keys exactly, in memory without a limit.
  lru    Counts IPv4 addresses exactly, in the memory that they take, and
         remembers the latest of other keys in --memory. Keys that it forgot
         are counted and listed again when they return.
  sketch Estimates each number in 16 KiB: low and high are 1.1 % from it.

--memory bounds all counters of a run together. Keys that do not fit are
sampled; low and high bound the true number (95 %). With --slide or --method
lru it bounds each counter, but with lru none of IPv4 addresses. With --method
bloom each counter starts with it.

Windows without packets have a line only with --gaps. Packets without a
timestamp are counted in a window of their own.

--save FILE saves the counters, in 1 to 6 bytes a key. --merge then unites the
files of several sensors, or of several runs, exactly. All need the same --key
and the same flags of counting. A sensor without a window is named in its row.`,
		Example: `  # count who was on the network in each hour, and where they went
  flowdedup distinct capture.pcapng

  # count networks instead of hosts, per day of a time zone
  flowdedup distinct --mask4 24 --every 1d --tz Europe/Berlin *.pcap.gz

  # list every source in the hour of its first packet, for scripts
  flowdedup distinct --of src --list --json capture.pcapng

  # count the past hour, at every minute
  flowdedup distinct --every 1h --slide 1m --of src,flow capture.pcapng

  # who sent the most bytes, in each hour and in all
  flowdedup distinct --of src,flow --top 10 --top-by bytes capture.pcapng

  # new keys in each hour, and the whole day in one row
  flowdedup distinct --changes --total capture.pcapng

  # save what two sensors count, and count what both saw
  flowdedup distinct --key $KEY --sensor roof --save roof.counts roof.pcap
  flowdedup distinct --key $KEY --sensor lab --save lab.counts lab.pcap
  flowdedup distinct --merge --overlap roof.counts lab.counts

  # count the whole capture once, as CSV too
  flowdedup distinct --every none --of src,flow --csv counts.csv span.pcap`,
		Args: f.named.Check,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, e, f.named.All(args)) },
	}
	f.register(cmd)
	return cmd
}

func (f *flags) register(cmd *cobra.Command) {
	cli.Define(cmd,
		[]cli.Flag{f.named.Flag()},
		f.net.Flags(),
		[]cli.Flag{f.net.MergeFlag()},
		f.KeyFlags.Flags(cli.KeysOfPackets, keys.Src, keys.Dst),
		[]cli.Flag{
			{Name: "slide", Group: cli.GroupCount, To: cli.NewParsed(&f.slide, "", "duration", cli.ParseEvery), Words: []string{"1m"}, Needs: []string{"method=auto,exact,sketch: others cannot forget"}, Not: []string{"list: windows overlap, so a key is first seen in several", "set-limit changes save: they need windows that do not overlap", "every=none: windows need a length: --every 1h"}, Help: "slide the window: report the past --every this often"},
			{Name: "inner", Group: cli.GroupCount, To: &f.inner, Help: "take addresses from inside tunnels"},
			cli.TunnelFlag(&f.tunnels),
			{Name: "list", Group: cli.GroupOutput, To: &f.list, Not: []string{"set-limit method=sketch: keys are not remembered"}, Help: "print each key when it is first seen in a window, and the table on standard error"},
			{Name: "csv", Group: cli.GroupOutput, To: &f.csv, Help: "also write the counts to `FILE` as CSV"},
			{Name: "total", Group: cli.GroupCount, To: &f.total, Help: "also count all inputs together, in rows behind the windows"},
			{Name: "changes", Group: cli.GroupCount, To: &f.changes, Needs: []string{"method=auto,exact,sketch: another cannot list its keys"}, Not: []string{"every=none: it needs several windows: --every 1h, not none"}, Help: "also count what is new, returning and gone against the window before"},
		},
		f.top.Flags("each window and of all inputs", nil, "slide: windows overlap, and counts of elements cannot be taken back"),
		[]cli.Flag{
			{Name: "gaps", Group: cli.GroupCount, To: &f.gaps, Not: []string{"every=none: it needs several windows: --every 1h, not none"}, Help: "print rows of zeros for windows without packets"},
		},
		f.save.Flags("FILE", "method=auto,sketch"),
		[]cli.Flag{
			{Name: "merge", Group: cli.GroupCount, To: &f.merge, Help: "unite files of --save; the inputs are these"},
			{Name: "overlap", Group: cli.GroupCount, To: &f.overlap, Needs: []string{"merge: it is about files of --save"}, Help: "with --merge: also count keys that sensors share, and keys of one only"},
			f.page.Flag("with counts over time"),
		},
		f.Common.Flags(windows.Methods()),
	)
	fs := cmd.Flags()
	every := fs.Lookup("every")
	every.Value = cli.NewParsed(&f.Every, "1h", "duration", parseSpan)
	every.Usage += ", none"
	fs.Lookup("quiet").Usage = "print errors and the result only; no table with --list or --csv"
}

func (f *flags) check(cmd *cobra.Command, inputs []string) error {
	f.Part.Zone = f.Calendar().Location
	if err := errors.Join(cli.CheckFlags(cmd.Flags()), f.Part.Check()); err != nil {
		return err
	}
	switch {
	case f.bounded() && f.list:
		return cli.Usagef("--list excludes --memory, which keeps a sample of the keys; --method lru lists keys again that it forgot")
	case f.bounded() && f.FPR >= minDistinctFPR && f.FPR < windows.MinBudgetFPR:
		return cli.Usagef("--fpr must be at least %g with --memory, or --method bloom, whose memory has no limit", windows.MinBudgetFPR)
	case f.Method != "exact" && (f.FPR < minDistinctFPR || f.FPR > maxDistinctFPR):
		return cli.Usagef("--fpr must be from %g to %g", minDistinctFPR, maxDistinctFPR)
	}
	if err := errors.Join(f.checkCSV(), f.page.Check(&f.Common)); err != nil {
		return err
	}
	named := cli.Files{Outputs: []cli.NamedFile{{Flag: "--csv", Name: f.csv}, {Flag: "--save", Name: f.save.To}, f.page.Named()}, Inputs: append(f.Filter.Files(), inputs...)}
	for _, err := range []error{named.Check(), f.KeyFlags.Check(), f.net.Check(inputs, false), f.net.CheckMerge(cmd.Flags(), inputs)} {
		if err != nil {
			return err
		}
	}
	if cfg := f.config(inputs); f.bounded() && f.Memory < cfg.LeastBudget() {
		return cli.Usagef("--memory must be at least %s for these keys, or --method sketch", show.FlagBytes(cfg.LeastBudget()))
	}
	if err := f.checkSave(); err != nil {
		return err
	}
	return f.checkSliding()
}

// checkCSV rejects a standard output with two results.
func (f *flags) checkCSV() error {
	if outfile.IsStdout(f.csv) && (f.JSON || f.list || !f.Quiet) {
		return cli.Usagef("--csv on standard output needs --quiet and excludes --json and --list, which print there too")
	}
	return nil
}

// bounded reports whether --memory bounds all counters together, not each one.
func (f *flags) bounded() bool { return f.Method == "auto" && f.slide == 0 && f.Memory > 0 }

func (f *flags) run(cmd *cobra.Command, e *cli.Env, args []string) (err error) {
	if f.merge {
		return f.runMerge(cmd, e, args)
	}
	if err := f.check(cmd, args); err != nil {
		return err
	}
	if err := f.Finish(cmd); err != nil {
		return err
	}
	network, err := f.net.Network(cmd, e.Logger())
	if err != nil {
		return err
	}
	e.Quiet.Store(f.Quiet)
	f.named.WarnPassed(e)
	if cmd.Flags().Changed("memory") && f.Method == "lru" && slices.ContainsFunc(f.Counted(), countsIPv4) {
		e.Notice("--memory does not bound counts of IPv4 addresses with --method lru: they are exact, in the memory that they take")
	}
	out, err := f.openOutputs(cmd, e, args)
	if err != nil {
		return err
	}
	cfg := f.config(args)
	if err := out.openSaved(cmd.Context(), &f.save, &cfg); err != nil {
		return errors.Join(err, out.close(false, false, 0))
	}
	bar := cli.NewProgress(e, &f.Common)
	defer bar.Close()
	cfg.Input, cfg.Rows, cfg.Flush = f.Inputs(e, bar), out.rows, out.out.Flush
	cfg.Input.Network = network
	if f.list {
		cfg.FirstSeen = out.sighting
	}
	result, err := Run(cmd.Context(), cfg)
	bar.Close()
	out.warnSketched(e, f.Method)
	if result.Gaps == count.MaxGaps {
		e.Warn(fmt.Errorf("windows without packets behind the first %d have no rows", count.MaxGaps))
	}
	cli.WarnUnopened(e, "packets", result.Unopened, result.Packets)
	if n := result.Fragments; n != nil && n.Left > 0 {
		e.Warn(fmt.Errorf("%s of tunnels could not be put together, as others are missing or contradict them: they count by their outer addresses", show.Some(n.Left, "fragment")))
	}
	if n := result.WithoutPorts - result.WithoutFirst; n > 0 {
		e.Warn(fmt.Errorf("%d %s count as one for each pair of addresses; capture at least 64 bytes", n,
			show.Word(n, "packet was truncated before its ports: such flows", "packets were truncated before their ports: their flows")))
	}
	if n := result.WithoutFirst; n > 0 {
		e.Warn(fmt.Errorf("%d %s count as one for each pair of addresses", n,
			show.Word(n, "fragment came without the first of its datagram: such flows", "fragments came without the first of their datagram: their flows")))
	}
	if result.WithoutPorts > 0 {
		err = errors.Join(err, out.withoutPorts(result.WithoutPorts))
	}
	if result.Late > 0 {
		e.Warn(errors.New(f.lateText(&result)))
	}
	out.withoutIP = result.WithoutIP
	read := result.Packets + result.Filtered
	clean := err == nil && !result.Damaged
	return errors.Join(cli.MarkDamage(err, read, result.Damaged), f.lost(err), out.close(clean, read > 0, result.Filtered))
}

// config returns the configuration of the run.
func (f *flags) config(inputs []string) Config {
	cfg := Config{
		Inputs: inputs, Workers: f.Workers,
		Config: count.Config{
			Keys: f.Counted(), Inner: f.inner, Tunnels: f.tunnels, Total: f.hasTotal(), Gaps: f.gaps,
			Config: windows.Config{
				Calendar: f.Calendar(), Slide: f.slide, Window: f.Every, Method: f.Method, Memory: f.Memory, FPR: f.FPR, Secret: f.Secret,
				Changes: f.changes, SetLimit: uint64(f.save.SetLimit),
			},
		},
	}
	f.top.Complete(&cfg.Config.Config)
	if f.bounded() {
		cfg.Budget = f.Memory
	}
	return cfg
}

// lost reports that the CSV file is incomplete because the reader of standard output left,
// which by itself is no failure.
func (f *flags) lost(err error) error {
	if f.csv == "" || outfile.IsStdout(f.csv) || !errors.Is(err, syscall.EPIPE) {
		return nil
	}
	return fmt.Errorf("%s is incomplete: the reader of standard output left", f.csv)
}

// hasTotal reports whether rows of all inputs are wanted. Rankings of windows do not add up to one.
func (f *flags) hasTotal() bool { return f.total || f.top.Given() && f.Every > 0 }

// parseSpan reads the length of windows. "none" is 0: one window for everything.
func parseSpan(s string) (time.Duration, error) {
	if s == "none" {
		return 0, nil
	}
	d, err := cli.ParseEvery(s)
	if err != nil {
		return 0, fmt.Errorf("%w, or none", err)
	}
	return d, nil
}

// slidingFPR holds for up to 2.8e8 keys in a window.
const slidingFPR = 1e-9

// checkSliding checks the flags of sliding windows.
func (f *flags) checkSliding() error {
	switch {
	case f.slide == 0:
		return nil
	case f.Every > cli.MaxSlidingSpan:
		return cli.Usagef("--every must be at most 366 days with --slide")
	case f.slide > f.Every:
		return cli.Usagef("--slide must not be longer than --every")
	case f.Every%f.slide != 0 || f.Every/f.slide > windows.MaxSlides:
		return cli.Usagef("--slide must divide --every, into %d parts at most", windows.MaxSlides)
	case f.Method == "auto" && f.FPR < slidingFPR:
		return cli.Usagef("--fpr must be at least %g with --slide, or --method exact", slidingFPR)
	}
	return nil
}

// countsIPv4 reports whether IPv4 addresses alone are elements of a key.
func countsIPv4(c keys.Config) bool {
	return !c.VLAN && (c.Kind == keys.Src || c.Kind == keys.Dst || c.Kind == keys.IP)
}

// lateText is the warning about late packets.
func (f *flags) lateText(r *Result) string {
	n := r.Late
	text := show.Word(n, "%d packet is not counted: its window had closed", "%d packets are not counted: their window had closed")
	if f.slide > 0 {
		text = show.Word(n, "%d packet is not counted: its time is far from all others or missing, or it came after the row of its slide was written",
			"%d packets are not counted: their time is far from all others or missing, or they came after the row of their slide was written")
	}
	text = fmt.Sprintf(text, n)
	if r.LateForMemory > 0 {
		text += fmt.Sprintf(", for %d of them early, for want of memory", r.LateForMemory)
		if f.bounded() {
			text += ". Without --memory more windows stay open"
		}
	}
	return text
}
