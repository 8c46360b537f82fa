// SPDX-License-Identifier: Apache-2.0

package cli

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
	"github.com/flowdedup/flowdedup/capture/netio"
	"github.com/flowdedup/flowdedup/capture/outfile"
	"github.com/flowdedup/flowdedup/capture/records/match"
	"github.com/flowdedup/flowdedup/capture/records/text"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/flows"
)

const (
	// maxFlowSockets bounds the sockets of an address: one for each processor, as long as
	// one goroutine can judge what they bring.
	maxFlowSockets    = 8
	defaultFlowMemory = 256 << 20
	defaultFlowWindow = 10 * time.Second
)

func (f *flowsFlags) registerFlows(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.SortFlags = false
	f.InputFlags.Register(fs)
	fs.Lookup("read").Usage = "read `FILE`; may be repeated"
	fs.Var(&f.listen, "listen", "take UDP from exporters at `ADDRESS`: :2055, 192.0.2.1:4739; IPFIX over TCP: tcp-listen://:4739; may be repeated")
	f.format = "auto"
	fs.Var(NewParsed(&f.format, "auto", "format", OneOf(flows.Formats()...)), "format", "format of inputs: "+strings.Join(flows.Formats(), ", "))
	fs.Var(NewParsed(&f.mapping, "", "fields", text.ParseMapping), "map", "names of values in text: src=client.ip,dst=server.ip,bytes=octets")
	fs.Var(NewParsed(&f.times, "", "layout", text.ParseTimeLayout), "time-format", "how times in text are written, as in strptime: '%d/%m/%Y %I:%M:%S %p'")
	fs.BoolVar(&f.inner, "inner", false, "take flows from inside the tunnels of packets that sFlow samples")
	GroupInput.Add(fs, "listen", "format", "map", "time-format", "inner")

	f.policy = flows.Owner
	fs.Var(NewParsed(&f.policy, "owner", "policy", flows.ParsePolicy), "policy", "what becomes of copies: owner, record, merge, mark")
	fs.Var(NewParsed(&f.key, "flow", "key", match.ParseKey), "key", "what makes a flow: flow, biflow (either direction; the default where text reports both in one record); +vlan, +vrf, +tos")
	fs.Var(NewParsed(&f.points, "exporter", "kind", match.ParsePointKind), "point", "what tells points apart: exporter, direction, interface, same (one exporter in several inputs)")
	fs.BoolVar(&f.nat, "nat", false, "translated addresses make a record one of both flows")
	fs.Var(NewList(&f.prefer, "", "who", parsePreferred), "prefer", "who owns flows: addresses of exporters, or sampling (the smallest interval)")
	fs.StringVar(&f.boundary, "boundary", "", "decide by external and internal interfaces in `FILE`, for sampled exports")
	f.window = defaultFlowWindow
	fs.Var(NewParsed(&f.window, "10s", "duration", ParseDelay), "window", "how long records wait for their copies before they are written")
	GroupCompare.Add(fs, "policy", "key", "point", "nat", "prefer", "boundary", "window")

	f.KeyFlags.Register(fs, KeysOfRecords)
	fs.StringVar(&f.reports, "reports", "", "append counts of --of to `FILE` (default: stdout)")

	fs.StringVarP(&f.output, "write", "w", "", "write records to `FILE` (-: stdout): lines of JSON, or CSV for .csv")
	fs.BoolVar(&f.csv, "csv", false, "write CSV whatever the name of the file")
	f.rotate.Register(fs)
	fs.StringVar(&f.relay, "to", "", "send messages without copies to `ADDRESS`: udp://collector:2055")
	fs.BoolVar(&f.spoof, "spoof", false, "keep the exporters' addresses in what is sent (CAP_NET_RAW)")
	fs.StringVar(&f.state, "state", "", "save flows and templates to `FILE`, and resume from it")
	fs.StringVar(&f.serve, "serve", "", "serve metrics and a page at `ADDRESS`: 9469 (loopback only), 0.0.0.0:9469")
	fs.BoolVar(&f.inspect, "inspect", false, "say who reports what twice, and which policy fits")
	f.page.Register(fs, "with the points and their copies")
	fs.BoolVar(&f.json, "json", false, "print JSON")
	fs.BoolVarP(&f.quiet, "quiet", "q", false, "print errors only")
	GroupOutput.Add(fs, "write", "csv", "to", "spoof", "reports", "state", "serve", "inspect", "json", "quiet")

	fs.Var(NewParsed(&f.ownerTimeout, "", "duration", ParseEvery), "owner-timeout", "wait this long for the owner of a flow to report more (default: for no time; records without times: twice the longest record)")
	f.deltas = match.Deltas{Start: 5 * time.Second, Duration: -1, Packets: -1, Bytes: -1}
	fs.Var(NewParsed(&f.deltas.Start, "5s", "duration", ParseDelay), "start-delta", "policy record: how far apart records may start")
	fs.Var(NewParsed(&f.deltas.Duration, "", "duration", ParseDelay), "duration-delta", "policy record: how much durations may differ (default: any)")
	fs.Var(NewParsed(&f.deltas.Packets, "", "N", parseDelta), "packets-delta", "policy record: how many packets records may differ by (default: any)")
	fs.Var(NewParsed(&f.deltas.Bytes, "", "N", parseDelta), "bytes-delta", "policy record: how many bytes records may differ by (default: any)")
	f.memory = defaultFlowMemory
	fs.Var(NewParsed(&f.memory, "256MiB", "size", ParseMemory), "memory", "memory for all that grows with the input: 256MiB hold five million flows")
	f.stateEvery = time.Minute
	fs.Var(NewParsed(&f.stateEvery, "1m", "duration", ParseEvery), "state-every", "how often to save the state, besides at the end")
	f.stateMismatch.Register(fs)
	GroupAdvanced.Add(fs, "state-every", "state-mismatch", "owner-timeout", "start-delta", "duration-delta", "packets-delta", "bytes-delta", "memory")
	CompleteKeys(cmd, KeysOfRecords)
	CompleteWords(cmd, map[string][]string{
		"listen": {":2055", ":4739", ":6343", "tcp-listen://:4739"}, "format": flows.Formats(), "policy": flows.Policies(),
		"key": {"flow", "biflow", "flow+vlan", "flow+vrf", "flow+tos"}, "point": {"exporter", "direction", "interface", "same"},
		"prefer": {"sampling"}, "window": {"10s", "1m"}, "owner-timeout": {"2m", "10m"}, "memory": {"64MiB", "256MiB", "1GiB"},
		"to": {"udp://"}, "state-mismatch": Mismatches,
	})
}

// listenFlag are the values of --listen.
type listenFlag struct {
	datagrams []netip.AddrPort
	streams   []netio.Address
}

// Set implements pflag.Value. A port without a host is that of all interfaces.
func (l *listenFlag) Set(s string) error {
	if netio.IsAddress(s) {
		a, err := netio.ParseAddress(s)
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

func (f *flowsFlags) check(fs *pflag.FlagSet, e *Env, inputs []string) error {
	if err := CheckNamed(fs); err != nil {
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
	case slices.Contains(f.Of, flow.MACs):
		return &usageError{errors.New("--of mac: flow records have no hardware addresses")}
	case len(f.Of) == 0 && f.reports != "":
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
	if err := errors.Join(f.rotate.Check(f.output), f.KeyFlags.Check()); err != nil {
		return err
	}
	if err := f.page.Check(&Common{JSON: f.json, Quiet: f.quiet}); err != nil {
		return err
	}
	named := Files{Outputs: []NamedFile{{"-w", f.output}, {"--state", f.state}, {"--reports", f.reports}, f.page.Named()}, Inputs: append(inputs, f.boundary)}
	return named.Check()
}
