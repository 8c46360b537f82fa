package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/flowdedup/flowdedup/capture/flow"
	"github.com/flowdedup/flowdedup/capture/netio"
	"github.com/flowdedup/flowdedup/capture/outfile"
	"github.com/flowdedup/flowdedup/capture/records/match"
	"github.com/flowdedup/flowdedup/capture/records/text"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/flows"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/monitor"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/report"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/sink"
	"github.com/flowdedup/flowdedup/engine/secret"
	"github.com/flowdedup/flowdedup/layout"
)

// flowsFlags are the flags of "flowdedup flows".
type flowsFlags struct {
	inputFlags
	keyFlags
	json, quiet  bool
	memory       int
	secret       secret.Secret
	listen       listenFlag
	format       string
	mapping      text.Mapping
	policy       flows.Policy
	key          match.Key
	points       match.PointKind
	nat          bool
	ownerTimeout time.Duration
	prefer       preferred
	deltas       match.Deltas
	window       time.Duration
	boundary     string
	output       string
	csv          bool
	relay        string
	spoof        bool
	inspect      bool
	serve        string
	reports      string
	state        string
	stateEvery   time.Duration
}

func newFlows(e *env) *cobra.Command {
	f := &flowsFlags{}
	cmd := &cobra.Command{
		Use:   "flows [flags] [INPUT...]",
		Short: "Keep each flow once among the records that routers export",
		Long: `Read flow records (NetFlow v5 and v9, IPFIX, sFlow, and lines of JSON or CSV),
and keep each flow once, though every router, firewall and interface that it
passes has told of it.

INPUT is a capture of exports (pcap, pcapng), an IPFIX file (RFC 5655), or text:
lines of JSON, nfdump's JSON, or CSV with a header. --listen takes what
exporters send.

A record is a copy if another point told of the same flow at that time. A point
is an exporter with its observation domain, or an input whose records name no
exporter. Records of one point are never copies of each other. Clocks that are
apart are set right by when messages came.

--policy says what becomes of copies:
  owner   the point that tells of a flow first owns it. When it tells no more,
          the flow goes to whoever does. The default.
  record  records match one to one, by start, duration, packets and bytes: for
          archives, and to audit accounting.
  merge   as owner; the record that stays has the greatest counters and lists
          the exporters and interfaces that told of it.
  mark    as owner, but copies stay, with duplicate_of.

Without -w and --to records are only counted. What cannot be decided passes as
unchecked. Do not match sampled exports: two exporters that sample see different
flows. Use --boundary for these. The manual says more.

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

  # distinct addresses and flows of each hour
  flowdedup flows --listen :2055 --of src,dst,flow --every 1h --reports hours.jsonl

  # one record for a flow, with all exporters that told of it
  flowdedup flows --listen :2055 --policy merge --window 30s -w merged.ndjson`,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, e, args) },
	}
	f.registerFlows(cmd)
	return cmd
}

const (
	defaultFlowMemory = 64 << 20
	defaultFlowWindow = 10 * time.Second
)

func (f *flowsFlags) registerFlows(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.SortFlags = false
	f.inputFlags.register(fs)
	fs.Lookup("read").Usage = "read `FILE`; may be repeated"
	fs.Var(&f.listen, "listen", "take UDP from exporters at `ADDRESS`: :2055, 192.0.2.1:4739; IPFIX over TCP: tcp-listen://:4739; may be repeated")
	f.format = "auto"
	fs.Var(newParsed(&f.format, "auto", "format", oneOf(flows.Formats()...)), "format", "format of inputs: "+strings.Join(flows.Formats(), ", "))
	fs.Var(newParsed(&f.mapping, "", "fields", text.ParseMapping), "map", "names of values in text: src=client.ip,dst=server.ip,bytes=octets")
	groupInput.add(fs, "listen", "format", "map")

	f.policy = flows.Owner
	fs.Var(newParsed(&f.policy, "owner", "policy", flows.ParsePolicy), "policy", "what becomes of copies: owner, record, merge, mark")
	fs.Var(newParsed(&f.key, "flow", "key", match.ParseKey), "key", "what makes a flow: flow, biflow (either direction; the default where text tells of both in one record); +vlan, +vrf, +tos")
	fs.Var(newParsed(&f.points, "exporter", "kind", match.ParsePointKind), "point", "what tells points apart: exporter, direction, interface")
	fs.BoolVar(&f.nat, "nat", false, "translated addresses make a record one of both flows")
	fs.Var(newParsed(&f.prefer, "", "who", parsePreferred), "prefer", "who owns flows: addresses of exporters, or sampling (the smallest interval)")
	fs.StringVar(&f.boundary, "boundary", "", "decide by external and internal interfaces in `FILE`, for sampled exports")
	f.window = defaultFlowWindow
	fs.Var(newParsed(&f.window, "10s", "duration", parseDelay), "window", "how long records wait for their copies before they are written")
	groupCompare.add(fs, "policy", "key", "point", "nat", "prefer", "boundary", "window")

	f.keyFlags.register(fs)
	fs.StringVar(&f.reports, "reports", "", "append counts of --of to `FILE` (default: stdout)")

	fs.StringVarP(&f.output, "write", "w", "", "write records to `FILE` (-: stdout): lines of JSON, or CSV for .csv")
	fs.BoolVar(&f.csv, "csv", false, "write CSV whatever the name of the file")
	fs.StringVar(&f.relay, "to", "", "send messages without copies to `ADDRESS`: udp://collector:2055")
	fs.BoolVar(&f.spoof, "spoof", false, "keep the exporters' addresses in what is sent (CAP_NET_RAW)")
	fs.StringVar(&f.state, "state", "", "save flows and templates to `FILE`, and resume from it")
	fs.StringVar(&f.serve, "serve", "", "serve metrics and a page at `ADDRESS`: 9469 (loopback only), 0.0.0.0:9469")
	fs.BoolVar(&f.inspect, "inspect", false, "say who reports what twice, and which policy fits")
	fs.BoolVar(&f.json, "json", false, "print JSON")
	fs.BoolVarP(&f.quiet, "quiet", "q", false, "print errors only")
	groupOutput.add(fs, "write", "csv", "to", "spoof", "reports", "state", "serve", "inspect", "json", "quiet")

	fs.Var(newParsed(&f.ownerTimeout, "", "duration", parseEvery), "owner-timeout", "wait this long for the owner of a flow to tell more (default: for no time; records without times: twice the longest record)")
	f.deltas = match.Deltas{Start: 5 * time.Second, Duration: -1, Packets: -1, Bytes: -1}
	fs.Var(newParsed(&f.deltas.Start, "5s", "duration", parseDelay), "start-delta", "policy record: how far apart records may start")
	fs.Var(newParsed(&f.deltas.Duration, "", "duration", parseDelay), "duration-delta", "policy record: how much durations may differ (default: any)")
	fs.Var(newParsed(&f.deltas.Packets, "", "N", parseDelta), "packets-delta", "policy record: how many packets records may differ by (default: any)")
	fs.Var(newParsed(&f.deltas.Bytes, "", "N", parseDelta), "bytes-delta", "policy record: how many bytes records may differ by (default: any)")
	f.memory = defaultFlowMemory
	fs.Var(newParsed(&f.memory, "64MiB", "size", parseMemory), "memory", "memory for flows: 200MB hold ten million")
	f.stateEvery = time.Minute
	fs.Var(newParsed(&f.stateEvery, "1m", "duration", parseEvery), "state-every", "how often to save the state, besides at the end")
	groupAdvanced.add(fs, "state-every", "owner-timeout", "start-delta", "duration-delta", "packets-delta", "bytes-delta", "memory")
	completeKeys(cmd)
	completeWords(cmd, map[string][]string{
		"listen": {":2055", ":4739", ":6343", "tcp-listen://:4739"}, "format": flows.Formats(), "policy": flows.Policies(),
		"key": {"flow", "biflow", "flow+vlan", "flow+vrf", "flow+tos"}, "point": {"exporter", "direction", "interface"},
		"prefer": {"sampling"}, "window": {"10s", "1m"}, "owner-timeout": {"2m", "10m"}, "memory": {"64MiB", "200MB", "1GiB"},
		"to": {"udp://"},
	})
}

// listenFlag are the values of --listen.
type listenFlag struct {
	datagrams []netip.AddrPort
	streams   []netio.Address
}

// Set implements pflag.Value. An address without a host is that of all interfaces.
func (l *listenFlag) Set(s string) error {
	if netio.IsAddress(s) {
		a, err := netio.ParseAddress(s)
		l.streams = append(l.streams, a)
		return err
	}
	if strings.HasPrefix(s, ":") {
		s = "[::]" + s
	}
	a, err := netip.ParseAddrPort(s)
	if err != nil || a.Port() == 0 {
		return errors.New("must be a port or an address and a port: :2055, 192.0.2.1:4739, [2001:db8::1]:2055, tcp-listen://:4739")
	}
	l.datagrams = append(l.datagrams, a)
	return nil
}

// String implements pflag.Value.
func (l *listenFlag) String() string { return "" }

// Type implements pflag.Value.
func (l *listenFlag) Type() string { return "address" }

func (l *listenFlag) any() bool { return len(l.datagrams)+len(l.streams) > 0 }

// preferred says who owns flows.
type preferred struct {
	exporters []netip.Addr
	sampling  bool
}

func parsePreferred(s string) (p preferred, err error) {
	if s == "sampling" {
		return preferred{sampling: true}, nil
	}
	for word := range strings.SplitSeq(s, ",") {
		a, err := netip.ParseAddr(strings.TrimSpace(word))
		if err != nil {
			return p, fmt.Errorf("must be sampling or addresses of exporters: %q", word)
		}
		p.exporters = append(p.exporters, a.Unmap())
	}
	return p, nil
}

// parseDelta reads how many packets or bytes records may differ by.
func parseDelta(s string) (int64, error) {
	var n int64
	if _, err := fmt.Sscanf(s, "%d", &n); err != nil || n < 0 || fmt.Sprint(n) != s {
		return 0, errors.New("must be a number that is not negative")
	}
	return n, nil
}

func (f *flowsFlags) check(fs *pflag.FlagSet, e *env, inputs []string) error {
	if err := checkNamed(fs); err != nil {
		return err
	}
	switch {
	case len(inputs) == 0 && !f.listen.any():
		return &usageError{errors.New("name an input, - for standard input, or --listen :2055")}
	case len(inputs) > 0 && f.listen.any():
		return &usageError{errors.New("--listen takes no inputs beside it")}
	case slices.Contains(inputs, ""):
		return &usageError{errors.New("an input's name is empty")}
	case f.spoof && f.relay == "":
		return &usageError{errors.New("--spoof needs --to, where messages are sent")}
	case f.relay != "" && (f.policy == flows.Merge || f.policy == flows.Mark):
		return &usageError{fmt.Errorf("--to sends messages as they came: --policy %s is for -w", f.policy)}
	case f.csv && f.output == "":
		return &usageError{errors.New("--csv needs -w, where records are written")}
	case f.inspect && (f.output != "" || f.relay != ""):
		return &usageError{errors.New("--inspect writes no records: leave out -w and --to")}
	case slices.Contains(f.of, flow.MACs):
		return &usageError{errors.New("--of mac: flow records have no hardware addresses")}
	case len(f.of) == 0 && f.reports != "":
		return &usageError{errors.New("--reports needs --of, what to count")}
	case f.reportsToStdout() && outfile.IsStdout(f.output):
		return &usageError{errors.New("standard output takes records: name a file for counts with --reports")}
	case f.inspect && (f.policy != flows.Owner || f.boundary != ""):
		return &usageError{errors.New("--inspect tries policies itself: leave out --policy and --boundary")}
	case f.boundary != "" && f.policy != flows.Owner:
		return &usageError{errors.New("--boundary decides without other records: it takes no --policy")}
	}
	for _, name := range []string{"start-delta", "duration-delta", "packets-delta", "bytes-delta"} {
		if fs.Changed(name) && f.policy != flows.Record {
			return &usageError{fmt.Errorf("--%s needs --policy record", name)}
		}
	}
	if err := f.keyFlags.check(); err != nil {
		return err
	}
	named := files{outputs: []namedFile{{"-w", f.output}, {"--state", f.state}, {"--reports", f.reports}}, inputs: append(inputs, f.boundary)}
	return named.check()
}

func (f *flowsFlags) run(cmd *cobra.Command, e *env, args []string) error {
	inputs := f.all(args)
	if err := f.check(cmd.Flags(), e, inputs); err != nil {
		return err
	}
	var err error
	if f.secret, err = secret.Random(); err != nil {
		return fmt.Errorf("make a random key: %w", err)
	}
	e.quiet = f.quiet
	cfg := flows.Config{
		Inputs: inputs, Listen: f.listen.datagrams, Streams: f.listen.streams, Format: f.format, Map: f.mapping, KeyGiven: cmd.Flags().Changed("key"), Policy: f.policy, Window: f.window,
		Output: f.output, CSV: f.csv, Relay: f.relay, Spoof: f.spoof, Inspect: f.inspect, State: f.state, StateEvery: f.stateEvery, Log: e.logger(),
		Match: match.Config{
			Key: f.key, Points: f.points, NAT: f.nat, OwnerTimeout: f.ownerTimeout, Prefer: f.prefer.exporters,
			PreferSampling: f.prefer.sampling, Memory: f.memory, Secret: f.secret,
		},
	}
	if f.listen.any() && !f.quiet {
		cfg.Log = slog.New(monitor.Lines(e.stderr))
	}
	if f.policy == flows.Record {
		cfg.Match.Pairs = &f.deltas
	}
	if f.boundary != "" {
		if err := readBoundary(f.boundary, &cfg); err != nil {
			return err
		}
	}
	if err := f.openReports(cmd.Context(), &cfg); err != nil {
		return err
	}
	end, err := f.show(&cfg)
	if err != nil {
		return err
	}
	defer end()
	s, err := flows.Run(cmd.Context(), &cfg)
	f.warnFlows(e, &s)
	return errors.Join(markDamage(err, s.RecordsIn, s.Damaged), f.print(e, &s, err))
}

// reportsToStdout reports whether counts go to standard output.
func (f *flowsFlags) reportsToStdout() bool {
	return len(f.of) > 0 && (f.reports == "" || outfile.IsStdout(f.reports))
}

// openReports has keys counted, and the counts of each window appended to a file.
func (f *flowsFlags) openReports(ctx context.Context, cfg *flows.Config) error {
	if len(f.of) == 0 {
		return nil
	}
	to, err := outfile.OpenAppend(ctx, cmp.Or(f.reports, "-"))
	if err != nil {
		return err
	}
	cfg.Distinct = flows.Distinct{Keys: f.keys(), Calendar: f.calendar(), Budget: layout.MemoryBudget(), Rows: report.NewDistinctJSON(to).Rows}
	return nil
}

// show serves the status of the run over HTTP, if that was asked for, and returns what ends
// it.
func (f *flowsFlags) show(cfg *flows.Config) (end func(), err error) {
	if f.serve == "" {
		return func() {}, nil
	}
	server, err := monitor.ListenFlows("--serve", f.serve, report.FlowsPage)
	if errors.Is(err, monitor.ErrAddress) {
		return nil, &usageError{err}
	} else if err != nil {
		return nil, err
	}
	cfg.Status = server.Update
	cfg.Log.Info("serving", "url", "http://"+server.Addr().String()+"/")
	return func() { _ = server.Close() }, nil // a scrape that was cut off does not make the run fail
}

// readBoundary reads the interfaces of --boundary.
func readBoundary(name string, cfg *flows.Config) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	if cfg.Match.Boundary, err = match.ReadBoundary(file); err != nil {
		return &usageError{fmt.Errorf("--boundary %s: %w", name, err)}
	}
	return nil
}

// warnFlows says what makes the answer doubtful.
func (f *flowsFlags) warnFlows(e *env, s *flows.Summary) {
	if s.Sampled > 0 && f.boundary == "" {
		e.warn(fmt.Errorf("%d of %d records are of exporters that sample packets: points then see different flows, what only one saw is counted, and sums are wrong: use --boundary FILE", s.Sampled, s.RecordsIn))
	}
	if n := s.Unchecked; n > 0 {
		e.warn(fmt.Errorf("%d records passed unchecked: they have no addresses, no template, or found no room in --memory", n))
	}
	if s.Dropped > 0 {
		e.warn(fmt.Errorf("the kernel dropped %d datagrams because a buffer was full: sysctl -w net.core.rmem_max=67108864", s.Dropped))
	}
	if s.Lost > 0 {
		e.warn(fmt.Errorf("%d records or messages never came, as sequence numbers tell", s.Lost))
	}
}

// print writes the summary to the stream that gets no records.
func (f *flowsFlags) print(e *env, s *flows.Summary, err error) error {
	if s.Policy == "" || errors.Is(err, sink.ErrOutput) {
		return nil
	}
	var w io.Writer = e.stdout
	if outfile.IsStdout(f.output) || f.reportsToStdout() {
		w = e.stderr
	}
	switch {
	case f.json:
		return report.FlowsJSON(w, s)
	case f.quiet:
		return nil
	}
	return report.FlowsText(w, s)
}
