// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/keys"
	"github.com/flowdedup/flowdedup/capture/outfile"
	"github.com/flowdedup/flowdedup/capture/pcapoverip"
	"github.com/flowdedup/flowdedup/capture/records/match"
	"github.com/flowdedup/flowdedup/capture/rotate"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/flows/text"
)

const (
	defaultMemory = 256 << 20
	defaultWindow = 10 * time.Second
)

func (f *flags) register(cmd *cobra.Command) {
	f.cfg = config{Format: "auto", Policy: byOwner, Window: defaultWindow, StateEvery: time.Minute}
	f.deltas = match.Deltas{Start: 5 * time.Second, Duration: -1, Packets: -1, Bytes: -1}
	f.Memory = defaultMemory
	cli.Define(cmd,
		[]cli.Flag{
			f.InputFlags.Flag(),
			{Name: "listen", Group: cli.GroupInput, To: cli.NewAdding(&f.listen, "address", func(s string) (listenFlag, error) { return f.listen.with(s) }), Words: []string{":2055", ":4739", ":6343", "tcp-listen://:4739"}, Help: "take UDP from exporters at `ADDRESS`: :2055, 192.0.2.1:4739; IPFIX over TCP: tcp-listen://:4739; may be repeated"},
			{Name: "format", Group: cli.GroupInput, To: cli.NewParsed(&f.cfg.Format, "auto", "format", cli.OneOf(formats()...)), Words: formats(), Help: "format of inputs: " + strings.Join(formats(), ", ")},
			{Name: "map", Group: cli.GroupInput, To: cli.NewParsed(&f.cfg.Map, "", "fields", text.ParseMapping), Help: "names of fields in text: src=client.ip,dst=server.ip,bytes=octets"},
			{Name: "time-format", Group: cli.GroupInput, To: cli.NewParsed(&f.cfg.Times, "", "layout", text.ParseTimeLayout), Help: "format of times in text, as in strptime: '%d/%m/%Y %I:%M:%S %p'"},
			{Name: "inner", Group: cli.GroupInput, To: &f.cfg.Inner, Help: "take flows from inside the tunnels of packets that sFlow samples"},
			cli.TunnelFlag(&f.cfg.Tunnels),
			{Name: "policy", Group: cli.GroupCompare, To: cli.NewParsed(&f.cfg.Policy, "owner", "policy", parsePolicy), Words: policies(), Help: "what becomes of copies: owner, record, merge, mark"},
			{Name: "flow-key", Group: cli.GroupCompare, To: cli.NewParsed(&f.cfg.Match.Key, "flow", "key", match.ParseKey), Words: []string{"flow", "biflow", "flow+vlan", "flow+vrf", "flow+tos"}, Help: "what makes a flow: flow, biflow (either direction; the default where records report both); +vlan, +vrf, +tos"},
			{Name: "point", Group: cli.GroupCompare, To: cli.NewParsed(&f.cfg.Match.Points, "exporter", "kind", match.ParsePointKind), Words: []string{"exporter", "direction", "interface", "observation", "same"}, Help: "what makes a point: exporter, direction, interface, observation (observationPointId), same (one exporter in several inputs)"},
			{Name: "nat", Group: cli.GroupCompare, To: &f.cfg.Match.NAT, Help: "a record with translated addresses belongs to both flows"},
			{Name: "prefer", Group: cli.GroupCompare, To: cli.NewList(&f.prefer, "", "who", parsePreferred), Words: []string{"sampling"}, Help: "who owns flows: addresses of exporters, or sampling (the smallest interval)"},
			{Name: "boundary", Group: cli.GroupCompare, To: &f.boundary, Not: []string{"policy=record,merge,mark: it decides without other records"}, Help: "decide by external and internal interfaces in `FILE`, for sampled exports"},
			{Name: "window", Group: cli.GroupCompare, To: cli.NewParsed(&f.cfg.Window, "10s", "duration", cli.ParseDelay), Words: []string{"10s", "1m"}, Help: "how long records wait for their copies before they are written"},
		},
		f.KeyFlags.Flags(cli.KeysOfRecords),
		[]cli.Flag{
			{Name: "reports", Group: cli.GroupOutput, To: &f.reports, Needs: []string{"of: what to count"}, Help: "append counts of --of to `FILE` (default: stdout)"},
			{Name: "write", Short: "w", Group: cli.GroupOutput, To: &f.cfg.Output, Help: "write records to `FILE` (-: stdout): lines of JSON, or CSV for .csv"},
			{Name: "csv", Group: cli.GroupOutput, To: &f.cfg.CSV, Needs: []string{"write: where records are written"}, Help: "write CSV whatever the name of the file"},
		},
		f.rotate.Flags(),
		[]cli.Flag{
			{Name: "to", Group: cli.GroupOutput, To: &f.cfg.Relay, Words: []string{"udp://"}, Not: []string{"policy=merge,mark: messages are sent as they came: that is for -w"}, Help: "send messages without copies to `ADDRESS`: udp://collector:2055"},
			{Name: "spoof", Group: cli.GroupOutput, To: &f.cfg.Spoof, Needs: []string{"to: where messages are sent"}, Help: "send messages from the exporters' addresses (CAP_NET_RAW)"},
			{Name: "state", Group: cli.GroupOutput, To: &f.cfg.State, Help: "save flows and templates to `FILE`, and resume from it"},
			{Name: "http", Group: cli.GroupOutput, To: &f.http, Help: "serve metrics and a page at `ADDRESS`: 9469 (loopback only), 0.0.0.0:9469"},
			{Name: "http-token", Group: cli.GroupAdvanced, To: &f.httpToken, Needs: []string{"http: where it is served"}, Help: "who asks there needs the token in `FILE`; its second line, if any, opens /metrics and /healthz alone"},
			{Name: "inspect", Group: cli.GroupOutput, To: &f.cfg.Inspect, Not: []string{"write to: it writes no records", "policy=record,merge,mark boundary: it tries policies itself"}, Help: "show which points report the same flows, and which policy fits"},
			f.page.Flag("with the points and their copies"),
		},
		f.PrintFlags(),
		[]cli.Flag{
			{Name: "owner-timeout", Group: cli.GroupAdvanced, To: cli.NewParsed(&f.cfg.Match.OwnerTimeout, "", "duration", cli.ParseEvery), Words: []string{"2m", "10m"}, Help: "how long the owner of a flow may be silent before another owns it (default: 0; records without times: twice the longest record)"},
			{Name: "start-delta", Group: cli.GroupAdvanced, To: cli.NewParsed(&f.deltas.Start, "5s", "duration", cli.ParseDelay), Needs: []string{"policy=record"}, Help: "policy record: how far apart records may start"},
			{Name: "duration-delta", Group: cli.GroupAdvanced, To: cli.NewParsed(&f.deltas.Duration, "", "duration", cli.ParseDelay), Needs: []string{"policy=record"}, Help: "policy record: how much durations may differ (default: any)"},
			{Name: "packets-delta", Group: cli.GroupAdvanced, To: cli.NewParsed(&f.deltas.Packets, "", "N", parseDelta), Needs: []string{"policy=record"}, Help: "policy record: how many packets records may differ by (default: any)"},
			{Name: "bytes-delta", Group: cli.GroupAdvanced, To: cli.NewParsed(&f.deltas.Bytes, "", "N", parseDelta), Needs: []string{"policy=record"}, Help: "policy record: how many bytes records may differ by (default: any)"},
			{Name: "memory", Group: cli.GroupAdvanced, To: cli.NewParsed(&f.Memory, "256MiB", "size", cli.ParseMemory), Words: []string{"64MiB", "256MiB", "1GiB"}, Help: "memory for all that grows with the input: 256MiB hold five million flows"},
			{Name: "state-every", Group: cli.GroupAdvanced, To: cli.NewParsed(&f.cfg.StateEvery, "1m", "duration", cli.ParseEvery), Help: "how often to save the state; it is saved at the end, too"},
			f.stateMismatch.Flag(),
		},
	)
	fs := cmd.Flags()
	fs.Lookup("read").Usage = "read `FILE`; may be repeated"
}

// listenFlag are the values of --listen.
type listenFlag struct {
	datagrams []netip.AddrPort
	streams   []pcapoverip.Address
}

// with returns the values with an address more. A port without a host stands for all interfaces.
func (l listenFlag) with(s string) (listenFlag, error) {
	if pcapoverip.IsAddress(s) {
		a, err := pcapoverip.ParseInput(s)
		l.streams = append(l.streams, a)
		return l, err
	}
	if !strings.Contains(s, ":") {
		s = ":" + s
	}
	if strings.HasPrefix(s, ":") {
		s = "[::]" + s
	}
	a, err := netip.ParseAddrPort(s)
	if err != nil || a.Port() == 0 {
		return l, errors.New("must be a port or an address and a port: 2055, 192.0.2.1:4739, [2001:db8::1]:2055, tcp-listen://:4739")
	}
	l.datagrams = append(l.datagrams, a)
	return l, nil
}

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

func (f *flags) check(fs *pflag.FlagSet, inputs []string) error {
	if err := cli.CheckFlags(fs); err != nil {
		return err
	}
	switch {
	case len(inputs) == 0 && !f.listen.any():
		return cli.Usagef("name an input, - for standard input, or --listen :2055")
	case len(inputs) > 0 && f.listen.any():
		return cli.Usagef("--listen excludes inputs")
	case slices.Contains(inputs, ""):
		return cli.Usagef("an input's name is empty")
	case slices.Contains(f.Of, keys.MACs):
		return cli.Usagef("--of mac: flow records have no hardware addresses")
	case f.reportsToStdout() && outfile.IsStdout(f.cfg.Output):
		return cli.Usagef("standard output takes records: name a file for counts with --reports")
	}
	if err := errors.Join(f.rotate.Check(), f.KeyFlags.Check()); err != nil {
		return err
	}
	if err := f.page.Check(&f.Common); err != nil {
		return err
	}
	named := cli.Files{Outputs: []cli.NamedFile{
		{Flag: "-w", Name: f.cfg.Output}, {Flag: "--state", Name: f.cfg.State}, {Flag: "--reports", Name: f.reports}, f.page.Named(),
	}, Inputs: append(inputs, f.boundary), Rotate: &f.rotate, Rotating: []string{"-w"}}
	return named.Check()
}

// policy says how copies are treated.
type policy string

// The policies.
const (
	byOwner  policy = "owner"  // the first point that reports a flow owns it
	byRecord policy = "record" // records match one to one
	merge    policy = "merge"  // as owner, and the kept record has the greatest counters
	mark     policy = "mark"   // as owner, and copies stay, marked
)

// policies returns the names of all policies.
func policies() []string {
	return []string{string(byOwner), string(byRecord), string(merge), string(mark)}
}

// parsePolicy reads the name of a policy.
func parsePolicy(s string) (policy, error) {
	if !slices.Contains(policies(), s) {
		return "", fmt.Errorf("must be one of %s", strings.Join(policies(), ", "))
	}
	return policy(s), nil
}

// config configures a run. The caller has checked everything in it.
type config struct {
	Inputs []string
	// Listen are the addresses that exporters send datagrams to. Streams are the addresses to
	// which they send IPFIX over TCP, or from which it is fetched.
	Listen  []netip.AddrPort
	Streams []pcapoverip.Address
	Format  string // one of formats
	Map     text.Mapping
	Times   text.TimeLayout  // of text
	Inner   bool             // sFlow's sampled packets are read inside their tunnels
	Tunnels *headers.Tunnels // the UDP ports of tunnels, nil for the usual ports
	Match   match.Config
	// Memory bounds the memory for records in bytes. The budget of distinct comes on top of it: see
	// shares. It takes the place of Match.Memory.
	Memory int
	// KeyGiven says that the user chose Match.Key. Otherwise it is biflow if an input reports
	// both directions in one record, or from the first such record on.
	KeyGiven bool
	Policy   policy
	// Window is for how long records wait for their copies before they are written.
	Window time.Duration
	Output string // "" for none
	CSV    bool
	Rotate rotate.Options // Output is a series of files if it has a size or an interval
	// Relay is the address that messages without copies go to, "" for none.
	Relay    string
	Spoof    bool
	Distinct distinct
	// Inspect has summary.Inspection say which policy fits.
	Inspect bool
	// Flags are the flags of the command line that define copies. The recommended command repeats
	// them.
	Flags []string
	// State is the file that the run is saved to, and resumed from, "" for none.
	State      string
	StateEvery time.Duration
	// BeginAnew sets a state aside that cannot be resumed.
	BeginAnew bool
	// Status gets the summary so far once a second; nil is none.
	Status func(*summary)
	Log    *slog.Logger
}

// live reports whether only a signal ends the run.
func (c *config) live() bool { return len(c.Listen)+len(c.Streams) > 0 }

// shares are the parts of config.Memory.
type shares struct {
	judge  int // flows and points
	hold   int // records that wait to be written; with config.Inspect the other judges
	reader int // memory for exporters and their messages
}

func (c *config) shares() shares { return shares{c.Memory / 2, c.Memory / 4, c.Memory / 4} }
