package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/flowdedup/flowdedup/capture/flow"
	"github.com/flowdedup/flowdedup/capture/outfile"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/distinct"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/report"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/sink"
	"github.com/flowdedup/flowdedup/engine/distinct/multikey"
)

// The rates that engine.NewLandmark takes.
const minDistinctFPR, maxDistinctFPR = 1e-18, 0.5

// distinctFlags are the flags of "flowdedup distinct".
type distinctFlags struct {
	common
	named inputFlags
	keyFlags
	window slidingWindow
	slide  time.Duration
	inner  bool
	list   bool
	csv    string
}

func newDistinct(e *env) *cobra.Command {
	f := &distinctFlags{}
	cmd := &cobra.Command{
		Use:   "distinct [flags] INPUT...",
		Short: "Count distinct addresses and flows per hour",
		Long: `Count the distinct source and destination addresses, flows and other keys of
pcap and pcapng captures in windows aligned to the clock, an hour long unless
--every says otherwise. - is standard input. Several inputs are merged in time
order. With --window 1h --slide 1m windows slide: the past hour is counted at
each full minute of the packets' time.

Keys:
  src, dst      source, destination address
  ip            address at either end
  pair          source and destination address
  flow, biflow  five-tuple, in one direction or either
  mac           hardware address of a station

Addresses are those of the outermost IP header; --inner opens tunnels first.
Distinct IPv4 addresses are counted exactly. Other keys are counted by 64 bits
of a digest each, of which two are alike once in 10^10 at a billion keys.
--method bloom takes less memory for more of that: a Bloom filter that grows,
and whose rate of false positives stays under --fpr. --method exact counts
everything exactly in as much memory as it takes.
--method lru remembers the keys that came last in as much as --memory says, and
counts and lists the others again when they return.

--memory bounds what the counters of a run hold together; what does not fit is
counted by a sample, and low and high tell how well (95 %). It is what each
counter holds with --slide and --method lru, and what each starts with with
--method bloom.

Windows without packets give no line. Packets that have no timestamp are
counted in a window of their own.`,
		Example: `  # who was on the network in each hour, and where did they go?
  flowdedup distinct capture.pcapng

  # networks instead of hosts, per day of the office's time zone
  flowdedup distinct --mask4 24 --every 1d --tz Europe/Berlin *.pcap.gz

  # every source in the hour of its first packet, for scripts
  flowdedup distinct --of src --list --json capture.pcapng

  # the past hour, at every minute
  flowdedup distinct --window 1h --slide 1m --of src,flow capture.pcapng

  # one count for the whole capture, as CSV too
  flowdedup distinct --window none --of src,flow --csv counts.csv span.pcap`,
		Args: f.named.check,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, e, f.named.all(args)) },
	}
	f.register(cmd)
	return cmd
}

func (f *distinctFlags) register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.SortFlags = false
	f.named.register(fs)
	f.keyFlags.register(fs, flow.Src, flow.Dst)
	fs.Var(newParsed(&f.window, "", "window", parseSlidingWindow), "window", "none: one window over the whole input instead of --every; or a duration, with --slide")
	fs.Var(newParsed(&f.slide, "", "duration", parseEvery), "slide", "count over the past --window at each multiple of this, which divides it")
	fs.BoolVar(&f.inner, "inner", false, "take addresses from inside tunnels")
	fs.BoolVar(&f.list, "list", false, "print each key with the time of its first packet in the window")
	fs.StringVar(&f.csv, "csv", "", "write the counts to `FILE` as CSV too")
	groupCount.add(fs, "window", "slide", "inner")
	groupOutput.add(fs, "list", "csv")
	f.common.register(fs, multikey.Methods())
	fs.Lookup("quiet").Usage = "print no warnings and no progress; no table beside --list or --csv"
	completeWords(cmd, map[string][]string{
		"window": {"none", "1h"}, "slide": {"1m"}, "method": multikey.Methods(),
		"memory": {"l1", "l2", "l3", "64MiB", "1GiB"}, "filter": filterWords,
	})
	completeKeys(cmd)
}

func (f *distinctFlags) check(cmd *cobra.Command, inputs []string) error {
	switch {
	case cmd.Flags().Changed("window") && cmd.Flags().Changed("every"):
		return &usageError{errors.New("--window and --every exclude each other")}
	case f.method == "exact" && f.memory != 0:
		return &usageError{errors.New("--memory has no meaning with --method exact, which takes what it needs")}
	case f.bounded() && f.list:
		return &usageError{errors.New("--list needs all keys, of which --memory would keep a sample; --method lru lists keys again that it forgot")}
	case f.method != "exact" && (f.fpr < minDistinctFPR || f.fpr > maxDistinctFPR):
		return &usageError{fmt.Errorf("--fpr must be from %g to %g", minDistinctFPR, maxDistinctFPR)}
	case outfile.IsStdout(f.csv) && (f.json || f.list || !f.quiet):
		return &usageError{errors.New("--csv on standard output needs --quiet, without --json and --list: they print there too")}
	}
	named := files{outputs: []namedFile{{"--csv", f.csv}}, inputs: append(f.filter.files(), inputs...)}
	for _, err := range []error{checkNamed(cmd.Flags()), named.check(), f.keyFlags.check()} {
		if err != nil {
			return err
		}
	}
	return f.checkSliding()
}

// bounded reports whether --memory bounds all counters together, not each one.
func (f *distinctFlags) bounded() bool { return f.method == "auto" && f.slide == 0 && f.memory > 0 }

func (f *distinctFlags) run(cmd *cobra.Command, e *env, args []string) (err error) {
	if err := f.check(cmd, args); err != nil {
		return err
	}
	if err := f.finish(cmd.Flags()); err != nil {
		return err
	}
	e.quiet = f.quiet
	out, err := f.openOutputs(cmd.Context(), e)
	if err != nil {
		return err
	}
	bar := newProgress(e, &f.common)
	defer bar.close()
	cfg := distinct.Config{
		Inputs: args, Input: f.inputs(e, bar), Inner: f.inner,
		Keys: f.keys(), Calendar: f.calendar(), Slide: f.slide, Window: f.window.length,
		Method: f.method, Memory: f.memory, FPR: f.fpr, Secret: f.secret, Workers: f.workers,
		Rows: out.rows,
	}
	if f.bounded() {
		cfg.Budget = f.memory
	}
	if f.window.none {
		cfg.Calendar.Every = 0
	}
	if f.list {
		cfg.FirstSeen, cfg.Flush = out.sighting, out.out.Flush
	}
	result, err := distinct.Run(cmd.Context(), cfg)
	bar.close()
	if result.Late > 0 {
		e.warn(fmt.Errorf(f.lateText(), result.Late))
	}
	read := result.Packets + result.Filtered
	clean := err == nil && !result.Damaged
	return errors.Join(judge(err, read, result.Damaged), f.lost(err), out.close(clean, read > 0, result.Filtered))
}

// lost tells of a CSV file that is not complete because the reader of standard
// output left, which alone is no failure.
func (f *distinctFlags) lost(err error) error {
	if f.csv == "" || outfile.IsStdout(f.csv) || !errors.Is(err, syscall.EPIPE) {
		return nil
	}
	return fmt.Errorf("%s is not complete: the reader of standard output left", f.csv)
}

// outputs are where the counts of a run go.
type outputs struct {
	out   *bufio.Writer // standard output
	json  *report.DistinctJSON
	table *report.DistinctTable
	file  *outfile.File
	csv   *report.DistinctCSV
}

func (f *distinctFlags) openOutputs(ctx context.Context, e *env) (*outputs, error) {
	o := &outputs{out: bufio.NewWriter(e.stdout)}
	switch {
	case f.json:
		o.json = report.NewDistinctJSON(o.out)
	case f.showsTable():
		o.table = report.NewDistinctTable(o.out)
	}
	if f.csv == "" {
		return o, nil
	}
	file, err := outfile.Create(ctx, f.csv, outfile.Options{})
	if err != nil {
		return nil, err
	}
	csv, err := report.NewDistinctCSV(sink.NewPatient(ctx, f.csv, file))
	if err != nil {
		return nil, errors.Join(err, file.Discard())
	}
	o.file, o.csv = file, csv
	return o, nil
}

// showsTable reports whether standard output gets the table. With --quiet it does unless
// the result goes elsewhere, so that scripts find lists and CSV without a table.
func (f *distinctFlags) showsTable() bool { return !f.quiet || !f.list && f.csv == "" }

func (o *outputs) rows(rows []distinct.Row) error {
	var errs []error
	if o.json != nil {
		errs = append(errs, o.json.Rows(rows))
	}
	if o.table != nil {
		errs = append(errs, o.table.Rows(rows))
	}
	if o.csv != nil {
		errs = append(errs, o.csv.Rows(rows))
	}
	return errors.Join(append(errs, o.out.Flush())...)
}

func (o *outputs) sighting(s *distinct.Sighting) error {
	switch {
	case o.json != nil:
		return o.json.Sighting(s)
	case o.table != nil:
		return o.table.Sighting(s)
	}
	return report.SightingText(o.out, s)
}

// close completes the outputs after a clean end. After any other, the rows that were read
// stay, beside a file that exists.
func (o *outputs) close(clean, read bool, filtered uint64) error {
	var err error
	if o.table != nil && (clean || read) {
		err = o.table.Close(filtered)
	}
	return errors.Join(err, o.out.Flush(), o.closeCSV(clean, read))
}

func (o *outputs) closeCSV(clean, read bool) error {
	switch {
	case o.csv == nil:
		return nil
	case clean:
		return o.file.Commit()
	case read:
		return sink.KeepFile(o.file, nil)
	}
	return o.file.Discard()
}
