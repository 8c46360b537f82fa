// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/flowdedup/flowdedup/capture/flow"
	"github.com/flowdedup/flowdedup/capture/outfile"
	"github.com/flowdedup/flowdedup/capture/pcapoverip"
	"github.com/flowdedup/flowdedup/capture/records/match"
	"github.com/flowdedup/flowdedup/capture/records/text"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
)

const (
	// maxFlowSockets bounds the sockets of an address: one for each processor, as long as
	// one goroutine can judge what they bring.
	maxFlowSockets    = 8
	defaultFlowMemory = 256 << 20
	defaultFlowWindow = 10 * time.Second
)

func (f *flags) register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.SortFlags = false
	f.InputFlags.Register(fs)
	fs.Lookup("read").Usage = "read `FILE`; may be repeated"
	fs.Var(&f.listen, "listen", "take UDP from exporters at `ADDRESS`: :2055, 192.0.2.1:4739; IPFIX over TCP: tcp-listen://:4739; may be repeated")
	f.format = "auto"
	fs.Var(cli.NewParsed(&f.format, "auto", "format", cli.OneOf(Formats()...)), "format", "format of inputs: "+strings.Join(Formats(), ", "))
	fs.Var(cli.NewParsed(&f.mapping, "", "fields", text.ParseMapping), "map", "names of values in text: src=client.ip,dst=server.ip,bytes=octets")
	fs.Var(cli.NewParsed(&f.times, "", "layout", text.ParseTimeLayout), "time-format", "how times in text are written, as in strptime: '%d/%m/%Y %I:%M:%S %p'")
	fs.BoolVar(&f.inner, "inner", false, "take flows from inside the tunnels of packets that sFlow samples")
	cli.GroupInput.Add(fs, "listen", "format", "map", "time-format", "inner")

	f.policy = Owner
	fs.Var(cli.NewParsed(&f.policy, "owner", "policy", ParsePolicy), "policy", "what becomes of copies: owner, record, merge, mark")
	fs.Var(cli.NewParsed(&f.key, "flow", "key", match.ParseKey), "flow-key", "what makes a flow: flow, biflow (either direction; the default where text reports both in one record); +vlan, +vrf, +tos")
	fs.Var(cli.NewParsed(&f.points, "exporter", "kind", match.ParsePointKind), "point", "what tells points apart: exporter, direction, interface, same (one exporter in several inputs)")
	fs.BoolVar(&f.nat, "nat", false, "translated addresses make a record one of both flows")
	fs.Var(cli.NewList(&f.prefer, "", "who", parsePreferred), "prefer", "who owns flows: addresses of exporters, or sampling (the smallest interval)")
	fs.StringVar(&f.boundary, "boundary", "", "decide by external and internal interfaces in `FILE`, for sampled exports")
	f.window = defaultFlowWindow
	fs.Var(cli.NewParsed(&f.window, "10s", "duration", cli.ParseDelay), "window", "how long records wait for their copies before they are written")
	cli.GroupCompare.Add(fs, "policy", "flow-key", "point", "nat", "prefer", "boundary", "window")

	f.KeyFlags.Register(fs, cli.KeysOfRecords)
	fs.StringVar(&f.reports, "reports", "", "append counts of --of to `FILE` (default: stdout)")

	fs.StringVarP(&f.output, "write", "w", "", "write records to `FILE` (-: stdout): lines of JSON, or CSV for .csv")
	fs.BoolVar(&f.csv, "csv", false, "write CSV whatever the name of the file")
	f.rotate.Register(fs)
	fs.StringVar(&f.relay, "to", "", "send messages without copies to `ADDRESS`: udp://collector:2055")
	fs.BoolVar(&f.spoof, "spoof", false, "keep the exporters' addresses in what is sent (CAP_NET_RAW)")
	fs.StringVar(&f.state, "state", "", "save flows and templates to `FILE`, and resume from it")
	fs.StringVar(&f.http, "http", "", "serve metrics and a page at `ADDRESS`: 9469 (loopback only), 0.0.0.0:9469")
	fs.BoolVar(&f.inspect, "inspect", false, "say who reports what twice, and which policy fits")
	f.page.Register(fs, "with the points and their copies")
	fs.BoolVar(&f.json, "json", false, "print JSON")
	fs.BoolVarP(&f.quiet, "quiet", "q", false, "print errors only")
	cli.GroupOutput.Add(fs, "write", "csv", "to", "spoof", "reports", "state", "http", "inspect", "json", "quiet")

	fs.Var(cli.NewParsed(&f.ownerTimeout, "", "duration", cli.ParseEvery), "owner-timeout", "wait this long for the owner of a flow to report more (default: for no time; records without times: twice the longest record)")
	f.deltas = match.Deltas{Start: 5 * time.Second, Duration: -1, Packets: -1, Bytes: -1}
	fs.Var(cli.NewParsed(&f.deltas.Start, "5s", "duration", cli.ParseDelay), "start-delta", "policy record: how far apart records may start")
	fs.Var(cli.NewParsed(&f.deltas.Duration, "", "duration", cli.ParseDelay), "duration-delta", "policy record: how much durations may differ (default: any)")
	fs.Var(cli.NewParsed(&f.deltas.Packets, "", "N", parseDelta), "packets-delta", "policy record: how many packets records may differ by (default: any)")
	fs.Var(cli.NewParsed(&f.deltas.Bytes, "", "N", parseDelta), "bytes-delta", "policy record: how many bytes records may differ by (default: any)")
	f.memory = defaultFlowMemory
	fs.Var(cli.NewParsed(&f.memory, "256MiB", "size", cli.ParseMemory), "memory", "memory for all that grows with the input: 256MiB hold five million flows")
	f.stateEvery = time.Minute
	fs.Var(cli.NewParsed(&f.stateEvery, "1m", "duration", cli.ParseEvery), "state-every", "how often to save the state, besides at the end")
	f.stateMismatch.Register(fs)
	cli.GroupAdvanced.Add(fs, "state-every", "state-mismatch", "owner-timeout", "start-delta", "duration-delta", "packets-delta", "bytes-delta", "memory")
	cli.CompleteKeys(cmd, cli.KeysOfRecords)
	cli.CompleteWords(cmd, map[string][]string{
		"listen": {":2055", ":4739", ":6343", "tcp-listen://:4739"}, "format": Formats(), "policy": Policies(),
		"flow-key": {"flow", "biflow", "flow+vlan", "flow+vrf", "flow+tos"}, "point": {"exporter", "direction", "interface", "same"},
		"prefer": {"sampling"}, "window": {"10s", "1m"}, "owner-timeout": {"2m", "10m"}, "memory": {"64MiB", "256MiB", "1GiB"},
		"to": {"udp://"}, "state-mismatch": cli.Mismatches,
	})
}

// listenFlag are the values of --listen.
type listenFlag struct {
	datagrams []netip.AddrPort
	streams   []pcapoverip.Address
}

// Set implements pflag.Value. A port without a host is that of all interfaces.
func (l *listenFlag) Set(s string) error {
	if pcapoverip.IsAddress(s) {
		a, err := pcapoverip.ParseAddress(s)
		l.streams = append(l.streams, a)
		return err
	}
	if !strings.Contains(s, ":") {
		s = ":" + s
	}
	if strings.HasPrefix(s, ":") {
		s = "[::]" + s
	}
	a, err := netip.ParseAddrPort(s)
	if err != nil || a.Port() == 0 {
		return errors.New("must be a port or an address and a port: 2055, 192.0.2.1:4739, [2001:db8::1]:2055, tcp-listen://:4739")
	}
	l.datagrams = append(l.datagrams, a)
	return nil
}

// String implements pflag.Value.
func (l *listenFlag) String() string { return "" }

// Type implements pflag.Value.
func (l *listenFlag) Type() string { return "address" }

// Adds implements once.Adder.
func (l *listenFlag) Adds() bool { return true }

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

func (f *flags) check(fs *pflag.FlagSet, e *cli.Env, inputs []string) error {
	if err := cli.CheckNamed(fs); err != nil {
		return err
	}
	switch {
	case len(inputs) == 0 && !f.listen.any():
		return cli.Usagef("name an input, - for standard input, or --listen :2055")
	case len(inputs) > 0 && f.listen.any():
		return cli.Usagef("--listen takes no inputs beside it")
	case slices.Contains(inputs, ""):
		return cli.Usagef("an input's name is empty")
	case f.spoof && f.relay == "":
		return cli.Usagef("--spoof needs --to, where messages are sent")
	case f.relay != "" && (f.policy == Merge || f.policy == Mark):
		return cli.Usagef("--to sends messages as they came: --policy %s is for -w", f.policy)
	case f.csv && f.output == "":
		return cli.Usagef("--csv needs -w, where records are written")
	case f.inspect && (f.output != "" || f.relay != ""):
		return cli.Usagef("--inspect writes no records: leave out -w and --to")
	case slices.Contains(f.Of, flow.MACs):
		return cli.Usagef("--of mac: flow records have no hardware addresses")
	case len(f.Of) == 0 && f.reports != "":
		return cli.Usagef("--reports needs --of, what to count")
	case f.reportsToStdout() && outfile.IsStdout(f.output):
		return cli.Usagef("standard output takes records: name a file for counts with --reports")
	case f.inspect && (f.policy != Owner || f.boundary != ""):
		return cli.Usagef("--inspect tries policies itself: leave out --policy and --boundary")
	case f.boundary != "" && f.policy != Owner:
		return cli.Usagef("--boundary decides without other records: it takes no --policy")
	}
	for _, name := range []string{"start-delta", "duration-delta", "packets-delta", "bytes-delta"} {
		if fs.Changed(name) && f.policy != Record {
			return cli.Usagef("--%s needs --policy record", name)
		}
	}
	if err := errors.Join(f.rotate.Check(f.output), f.KeyFlags.Check()); err != nil {
		return err
	}
	if err := f.page.Check(&cli.Common{JSON: f.json, Quiet: f.quiet}); err != nil {
		return err
	}
	named := cli.Files{Outputs: []cli.NamedFile{
		{Flag: "-w", Name: f.output}, {Flag: "--state", Name: f.state}, {Flag: "--reports", Name: f.reports}, f.page.Named(),
	}, Inputs: append(inputs, f.boundary)}
	return named.Check()
}
