// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/flowdedup/flowdedup/capture/outfile"
	"github.com/flowdedup/flowdedup/capture/records/match"
	"github.com/flowdedup/flowdedup/capture/records/relay"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/count"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/monitor"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/sink"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/page"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/layout"
)

// flags are the flags of "flowdedup flows".
type flags struct {
	cli.InputFlags
	cli.KeyFlags
	cli.Common
	listen        listenFlag
	cfg           config // what flags set as it is
	prefer        preferred
	deltas        match.Deltas
	boundary      string
	rotate        cli.RotateFlags
	page          cli.PageFlag
	http          string
	httpToken     string
	reports       string
	stateMismatch cli.MismatchFlag
}

// Command returns "flowdedup flows".
func Command(e *cli.Env) *cobra.Command {
	f := &flags{}
	cmd := &cobra.Command{
		Use:   "flows [flags] [INPUT...]",
		Short: "Keep each flow once, though several exporters report it",
		Long: `Read flow records (NetFlow v1, v5, v7 and v9, IPFIX, sFlow, and lines of JSON
or CSV), and keep one record per flow, although every exporter on its path
reports it.

INPUT is a capture of exports (pcap, pcapng), an IPFIX file (RFC 5655), or
text: lines of JSON, nfdump's JSON, Zeek's logs, or CSV with a header. --listen
takes what exporters send.

A record is a copy if another point reported the same flow at that time. A
point is an exporter with its observation domain, or an input whose records
name no exporter. Records of one point are never copies of each other. Offsets
between clocks are corrected by the times at which messages arrive.

--policy says what becomes of copies:
  owner   the point that reports a flow first owns it. When it stops, the next
          point that reports the flow owns it. The default.
  record  records match one to one, by start, duration, packets and bytes: for
          archives, and to audit accounting.
  merge   as owner; the record that stays has the greatest counters and lists
          the exporters and interfaces that reported it.
  mark    as owner, but copies stay, with duplicate_of.

Without -w and --to records are only counted. A record that cannot be decided,
or has a value that cannot be read, passes unchecked; --time-format says how
times are written. Do not match sampled exports: two exporters that sample see
different flows. Use --boundary for these. The manual says more.

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 an input is damaged and the rest
was processed, 130 and 143 ended by a signal.`,
		Example: `  # who reports what twice, and what to do about it
  flowdedup flows --inspect monday.pcap

  # records of two routers, each flow once
  flowdedup flows r1.json r2.json -w once.ndjson

  # between exporters and a collector: the same messages without copies
  flowdedup flows --listen :2055 --to udp://collector:2055

  # the same, and the collector sees the addresses of the exporters
  flowdedup flows --listen :2055 --to udp://collector:2055 --spoof

  # a file for each hour, the last day of them
  flowdedup flows --listen :2055 -w flows.csv.zst --rotate-every 1h \
    --rotate-keep 24

  # distinct addresses and flows of each hour
  flowdedup flows --listen :2055 --of src,dst,flow --every 1h \
    --reports hours.jsonl

  # what an exporter sent to two collectors
  flowdedup flows --point same a.json b.json -w once.ndjson

  # one record for a flow, with all exporters that reported it
  flowdedup flows --listen :2055 --policy merge --window 30s -w merged.ndjson`,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, e, args) },
	}
	f.register(cmd)
	return cmd
}

func (f *flags) run(cmd *cobra.Command, e *cli.Env, args []string) error {
	inputs := slices.Concat(f.Read, args)
	if err := f.check(cmd.Flags(), inputs); err != nil {
		return err
	}
	var err error
	if f.Secret, err = engine.RandomSecret(); err != nil {
		return fmt.Errorf("make a random key: %w", err)
	}
	e.Quiet.Store(f.Quiet)
	cfg := f.config(cmd.Flags(), e, inputs)
	if f.listen.any() && !f.Quiet {
		cfg.Log = slog.New(monitor.Lines(e.Stderr))
		cmd.SetContext(sink.LogNoReader(cmd.Context(), cfg.Log))
	}
	if f.boundary != "" {
		if err := readBoundary(cmd.Context(), f.boundary, &cfg); err != nil {
			return err
		}
	}
	if err := f.openReports(cmd.Context(), &cfg, cmd.Flags().Changed("memory")); err != nil {
		return err
	}
	file, err := f.page.Open(cmd, inputs)
	if err != nil {
		return err
	}
	end, err := f.show(&cfg, cli.NewOrigin(cmd, inputs))
	if err != nil {
		return errors.Join(err, file.Discard())
	}
	defer end()
	s, err := run(cmd.Context(), &cfg)
	if errors.Is(err, relay.ErrAddress) {
		err = cli.Usagef("--to: %w", err)
	}
	f.warn(e, &s)
	result := s.Policy != "" && !errors.Is(err, sink.ErrOutput)
	return errors.Join(cli.MarkDamage(err, s.RecordsIn, s.Damaged), f.print(e, &s, result),
		file.Write(result, func(of cli.Origin) *page.Page { return newPage(&s, of) }))
}

// config returns the configuration of the run, without what must be read or opened.
func (f *flags) config(fs *pflag.FlagSet, e *cli.Env, inputs []string) config {
	cfg := f.cfg
	cfg.Inputs, cfg.Listen, cfg.Streams, cfg.Log = inputs, f.listen.datagrams, f.listen.streams, e.Logger()
	cfg.KeyGiven, cfg.Flags, cfg.BeginAnew = fs.Changed("flow-key"), repeated(fs), f.stateMismatch.Begins()
	cfg.Rotate, cfg.Memory, cfg.Match.Secret = f.rotate.Options(), f.Memory, f.Secret
	cfg.Match.Prefer, cfg.Match.PreferSampling = f.prefer.exporters, f.prefer.sampling
	if f.cfg.Policy == byRecord {
		cfg.Match.Pairs = &f.deltas
	}
	return cfg
}

// reportsToStdout reports whether counts go to standard output.
func (f *flags) reportsToStdout() bool {
	return len(f.Of) > 0 && (f.reports == "" || outfile.IsStdout(f.reports))
}

// countMemory returns the memory for counts: half of --memory if it is given.
func (f *flags) countMemory(given bool) int {
	if !given {
		return layout.MemoryBudget()
	}
	return min(f.Memory/2, layout.MemoryBudget())
}

// openReports has keys counted, and the counts of each window appended to a file.
func (f *flags) openReports(ctx context.Context, cfg *config, memoryGiven bool) error {
	if len(f.Of) == 0 {
		return nil
	}
	to, err := outfile.OpenAppend(ctx, cmp.Or(f.reports, "-"))
	if err != nil {
		return err
	}
	budget := f.countMemory(memoryGiven)
	if memoryGiven {
		cfg.Memory -= budget
	}
	cfg.Distinct = distinct{Keys: f.Counted(), Calendar: f.Calendar(), Budget: budget, Rows: count.NewLines(to, "flows").Rows}
	return nil
}

// show reports the status of the run to a service manager, and serves it with --http. end ends both.
func (f *flags) show(cfg *config, of cli.Origin) (end func(), err error) {
	notifier, err := monitor.NewNotifier()
	if err != nil {
		cfg.Log.Warn("cannot notify the service manager", "error", err)
	}
	var server *server
	if f.http != "" {
		if server, err = listen(f.http, f.httpToken, of); err != nil {
			return nil, err
		}
		cfg.Log.Info("serving", "url", "http://"+server.Addr().String()+"/")
	}
	if notifier == nil && server == nil {
		return func() {}, nil
	}
	cfg.Status = func(s *summary) {
		if notifier != nil {
			notifier.Report(s.status(), false)
		}
		if server != nil {
			server.update(s)
		}
	}
	return func() {
		if server != nil {
			_ = server.Close() // a scrape that was cut off does not make the run fail
		}
		if notifier != nil {
			_ = notifier.Close() // nothing is left to send
		}
	}, nil
}

// readBoundary reads the interfaces of --boundary, until ctx is done.
func readBoundary(ctx context.Context, name string, cfg *config) error {
	return outfile.Until(ctx, func() error {
		file, err := os.Open(name)
		if err != nil {
			return err
		}
		defer file.Close()
		if cfg.Match.Boundary, err = match.ReadBoundary(file); err != nil {
			return cli.Usagef("--boundary %s: %w", name, err)
		}
		return nil
	})
}

// warn reports reasons to doubt the answer.
func (f *flags) warn(e *cli.Env, s *summary) {
	count := func(n uint64, one, many, rest string) {
		if n > 0 {
			e.Warn(fmt.Errorf("%d %s %s", n, show.Word(n, one, many), rest))
		}
	}
	if s.Sampled > 0 && f.boundary == "" {
		e.Warn(fmt.Errorf("%d of %d records %s of exporters that sample packets: their points see different flows, so sums are wrong: use --boundary FILE", s.Sampled, s.RecordsIn, show.Word(s.Sampled, "is", "are")))
	}
	if n := s.Unchecked - s.NoRoom; n > 0 {
		e.Warn(fmt.Errorf("%d %s no addresses, no template, or a value that could not be read%s", n,
			show.Word(n, "record passed unchecked: it has", "records passed unchecked: they have"), f.otherDoubts()))
	}
	count(s.NoRoom, "record passed", "records passed", "unchecked for want of --memory: copies may be left")
	for _, u := range s.Unread {
		could, way := "could not be read", "--map says where values are"
		if u.Time {
			could, way = "could not be read or cannot be", "when the record came counts instead, if that is known; --time-format says how times are written"
		}
		e.Warn(fmt.Errorf("%d %s of %s %s, such as %q: %s", u.Values, show.Word(u.Values, "value", "values"), u.Field, could, u.Example, way))
	}
	count(s.badLines, "record of text is", "records of text are", "damaged and left out")
	count(s.Untimed, "record is", "records are", "in no window of --of, for want of a readable time")
	if s.Archived > 0 {
		e.Warn(fmt.Errorf("%d %s more than a day from when %s came, so an archive was sent again, or a clock is wrong: their own times count", s.Archived,
			show.Word(s.Archived, "record is", "records are"), show.Word(s.Archived, "its message", "their messages")))
	}
	if 2*s.Late > s.RecordsIn {
		e.Warn(fmt.Errorf("%d of %d records are in no window of --of: they came too late, or their time is ahead", s.Late, s.RecordsIn))
	}
	count(s.Early, "record was written before the end of --window, for want of --memory: it does", "records were written before the end of --window, for want of --memory: they do",
		"not list copies that came later")
	count(s.Dropped, "datagram was", "datagrams were", "dropped, by the kernel because a buffer was full or at the end because they came too fast: sysctl -w net.core.rmem_max=67108864")
	if s.RecordsIn == 0 && s.Foreign > 0 {
		e.Warn(fmt.Errorf("none of %d %s is a message of NetFlow (v1, v5, v7, v9), IPFIX or sFlow (v5): for packets themselves, flowdedup dedup, or distinct --of flow", s.Foreign, show.Word(s.Foreign, "packet", "packets")))
	}
	count(s.Fragments, "IP fragment", "IP fragments", "of UDP datagrams could not be reassembled: others are missing, truncated or contradict them; the records in them are missing")
	if s.Remembered > 0 {
		e.Warn(fmt.Errorf("repeated messages are recognized for %.3g seconds only, for want of --memory: later ones are read twice", s.Remembered.Seconds()))
	}
	count(s.Lost, "record or message was", "records or messages were", "lost, as sequence numbers show")
}

// otherDoubts says why else records may pass unchecked.
func (f *flags) otherDoubts() string {
	switch {
	case f.boundary != "":
		return ", or an interface that --boundary does not list"
	case f.cfg.Policy == byRecord:
		return fmt.Sprintf(", or are of a point behind the first %d", match.MaxPairPoints)
	}
	return ""
}

// print writes the summary to the stream that gets no records.
func (f *flags) print(e *cli.Env, s *summary, result bool) error {
	if !result {
		return nil
	}
	var w io.Writer = e.Stdout
	if outfile.IsStdout(f.cfg.Output) || f.reportsToStdout() {
		e.NoteLost("-")
		w = e.Stderr
	}
	return f.Print(e, w, s, func(w io.Writer, columns int) error {
		return writeText(e.UnlessClosed(w), columns, s) // a service may have none
	})
}
