// SPDX-License-Identifier: Apache-2.0

package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/flowdedup/flowdedup/capture/outfile"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/count"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/dedup"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/monitor"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/sink"
	"github.com/flowdedup/flowdedup/engine/distinct/windows"
	"github.com/flowdedup/flowdedup/engine/window"
	"github.com/flowdedup/flowdedup/layout"
)

// verdictWait is how long a packet waits for a verdict by default.
const verdictWait = 20 * time.Millisecond

// flags are the flags of "flowdedup live".
type flags struct {
	cli.Common
	dedup.CompareFlags
	dedup.KeepFlags
	dedup.ForFlag
	dedup.HubFlags
	cli.KeyFlags
	cli.RingFlags
	cfg                config // what flags set as it is
	outputs            []string
	balance, onFailure string
	rotate             cli.RotateFlags
	net                cli.NetFlags
	sources            cli.Sources // the values of -i
	distinctMemory     int         // 0 for layout.MemoryBudget
	drawn              bool        // the display is on the terminal that is standard output, too
	top                cli.TopFlags
	save               cli.SaveFlags
	stateMismatch      cli.MismatchFlag
	notPromiscuous     bool
	logFormat          string
	checks             bool
	http               string
	httpToken          string
	learn, learnEvery  time.Duration
}

// Command returns "flowdedup live".
func Command(e *cli.Env) *cobra.Command {
	f := &flags{}
	cmd := &cobra.Command{
		Use:   "live -i IFACE [flags] [EXPRESSION...]",
		Short: "Remove duplicate packets from live traffic, and count it",
		Long: `Remove duplicate packets from live traffic, as dedup does from captures. Write
the kept packets to a file (pcapng), a pipe or another interface, and count
distinct addresses and flows per hour. Linux only.

EXPRESSION is a filter, as with tcpdump: only packets that match are captured.
The short flags -i, -w, -c, -s, -p, -B, -C, -G, -W and -Z are those of tcpdump,
but files of -G begin at multiples of it in UTC. -q is --quiet.

-i also takes captures over a network (tcp://HOST:57012, tcp-listen://:57012),
and mirrored traffic in tunnels: vxlan://:4789, geneve://:6081 (both with
?vni=1,2), tzsp://:37008 and erspan:// (?session=1,2). Each peer, VNI and
session is a capture point, as an interface is. They need no privileges, but
erspan:// needs CAP_NET_RAW.

Copies are found on one interface and across several (-i several times, or
-i any), with --across only across. Kernel drops (a full ring) are reported
when they happen and in the summary. A larger --ring-size absorbs longer
bursts.

SIGINT and SIGTERM end a run with exit code 130 or 143: packets captured until
then are written, files are completed and the summary is printed. --count and
--duration end it with 0. Without --wait an interface that is down, gone or not
there ends it with 1.

If packets are written or forwarded, all packets of a conversation are taken
from one capture point, for analyzers that key flows by VLAN or interface.
--prefer EXPR keeps the copy that matches; EXPR is a filter expression or
interface NAME. If copies may differ in checksums or length, whole packets with
right checksums take precedence, unless --prefer first is given. A packet waits
up to --hold if a better copy may come, and later packets wait behind it. With
one capture point no packet waits. --keep first keeps the first of equal
packets, and none waits. "flowdedup dedup --help" says more about these flags,
and about --within, --only, --protect and --strip.

--learn 1m inspects packets for a minute, as "flowdedup inspect" does, and
keeps all of them. It then chooses --identity, --window, --ignore and --across,
or still keeps all packets if there are no copies. It inspects again each hour.

--capture xdp takes packets from the driver (AF_XDP), which costs the kernel
less. The host does not get them, so it is for interfaces of a tap or a SPAN
port. It also needs CAP_NET_ADMIN and CAP_BPF.

Live capture needs CAP_NET_RAW and nothing else. Run as root, with --user to
become another user once interfaces are open, or give the program the
capability: setcap cap_net_raw+ep.`,
		Example: `  # pipe what a SPAN port delivers, without copies, into Zeek
  flowdedup live -i eth1 --for zeek -w - | zeek -r -

  # keep the newest 24 files of 100 MB of web traffic
  flowdedup live -i eth1 -w web.pcapng -C 100 -W 24 tcp port 443

  # join two taps of one link on the interface that a sensor listens to
  flowdedup live -i tap0 -i tap1 --across --window 50ms --forward mon0

  # at each of several sites: keep what no other site has sent before
  flowdedup live -i eth1 --hub paris.token -w clean.pcapng

  # for Suricata, which listens to mon0
  flowdedup live -i eth1 --for suricata --forward mon0

  # the target of a cloud's mirror: a packet comes once for each session
  flowdedup live -i vxlan://:4789 --across --window 10ms -w clean.pcapng -C 100

  # find out first what to remove, and look again each hour
  flowdedup live -i eth1 --learn 1m --for suricata --forward mon0

  # report addresses and flows per hour, as an unprivileged user
  flowdedup live -i eth1 --of src,dst,flow --reports counts.jsonl --user nobody`,
		Args:              f.Filter.TakeExpression,
		ValidArgsFunction: cobra.FixedCompletions(cli.FilterWords, cobra.ShellCompDirectiveNoFileComp),
		RunE:              func(cmd *cobra.Command, _ []string) error { return f.run(cmd, e) },
	}
	f.register(cmd)
	return cmd
}

func (f *flags) register(cmd *cobra.Command) {
	f.Window = window.Window{Duration: liveWindow}
	cli.Define(cmd,
		f.InterfaceFlags("an address or a mirror target", cli.CompleteSources),
		f.Filter.Flags(),
		[]cli.Flag{
			{Name: "write", Short: "w", Group: cli.GroupOutput, To: &f.outputs, Help: "write kept packets to `FILE` (-: stdout); addresses may be repeated"},
			{Name: "duplicates", Group: cli.GroupOutput, To: &f.cfg.Outputs.Removed, Help: "write removed packets to `FILE`"},
		},
		f.rotate.Flags(),
		f.net.Flags(),
		[]cli.Flag{
			f.net.MergeFlag(),
			{Name: "forward", Group: cli.GroupOutput, To: &f.cfg.Outputs.Forward, Complete: cli.CompleteInterfaces, Help: "send kept packets out of `IFACE`; may be repeated"},
			{Name: "balance", Group: cli.GroupOutput, To: cli.NewParsed(&f.balance, "", "word", cli.OneOf("conversation")), Words: []string{"conversation"}, Help: "conversation: send each conversation to one of several outputs, not to all"},
			{Name: "on-failure", Group: cli.GroupOutput, To: cli.NewParsed(&f.onFailure, "drop", "word", cli.OneOf("spread", "drop")), Words: []string{"spread", "drop"}, Needs: []string{"balance: without it every output gets every packet"}, Help: "with --balance: spread the share of a failed output over the others, or drop it"},
		},
		f.CompareFlags.Flags(),
		f.KeepFlags.Flags(),
		[]cli.Flag{f.ForFlag.Flag()},
		f.HubFlags.Flags(verdictWait),
		f.MethodFlags(dedup.UsualMethods, dedup.MeasuringMethods()...),
		f.learnFlags(),
		f.KeyFlags.Flags(cli.KeysOfPackets),
		f.top.Flags("each window, behind its counts", []string{"of: what to count"}, "state: rankings are not saved"),
		[]cli.Flag{
			{Name: "distinct-memory", Group: cli.GroupAdvanced, To: cli.NewParsed(&f.distinctMemory, "", "size", cli.ParseMemory), Words: []string{"256MiB", "1GiB"}, Help: "memory of all counters together; they sample keys beyond it (default: 1/8 of memory or of the cgroup's limit)"},
			{Name: "reports", Group: cli.GroupOutput, To: &f.cfg.Reports, Needs: []string{"of: what to count"}, Help: "append counts to `FILE` (default: stdout, unless that is the display)"},
		},
		f.save.Flags("DIR", "of: what to count"),
		f.RingFlags.Flags(),
		f.tcpdumpFlags(),
		[]cli.Flag{
			{Name: "slide", Group: cli.GroupCount, To: cli.NewParsed(&f.cfg.Slide, "1m", "duration", cli.ParseDelay), Help: "report the past --every this often (0: never)"},
			{Name: "state", Group: cli.GroupOutput, To: &f.cfg.State, Not: []string{"method=exact: it cannot be saved: use --method timed"}, Help: "save the run to `FILE`, and resume from it"},
			{Name: "state-every", Group: cli.GroupAdvanced, To: cli.NewParsed(&f.cfg.StateEvery, "1m", "duration", cli.ParseEvery), Help: "how often to save the state; it is saved at the end, too"},
			f.stateMismatch.Flag(),
			{Name: "user", Short: "Z", Group: cli.GroupAdvanced, To: &f.cfg.User, Help: "become user `NAME` (or UID, UID:GID) once interfaces are open"},
			{Name: "count", Short: "c", Group: cli.GroupInput, To: &f.cfg.Packets, Help: "stop after `N` packets"},
			{Name: "check", Group: cli.GroupAdvanced, To: &f.checks, Help: "check settings, rights, interfaces, files and folders, print ok, and end: nothing is captured or written"},
			{Name: "duration", Group: cli.GroupInput, To: cli.NewParsed(&f.cfg.Duration, "", "duration", cli.ParseDelay), Help: "stop after this time"},
		},
		f.RunFlags(),
		[]cli.Flag{
			{Name: "http", Group: cli.GroupOutput, To: &f.http, Help: "serve metrics and a page at `ADDRESS`: 9469 (loopback only), 0.0.0.0:9469"},
			{Name: "http-token", Group: cli.GroupAdvanced, To: &f.httpToken, Needs: []string{"http: where it is served"}, Help: "who asks there needs the token in `FILE`; its second line, if any, opens /metrics and /healthz alone"},
			{Name: "log", Group: cli.GroupOutput, To: cli.NewParsed(&f.logFormat, "text", "format", cli.OneOf("text", "json")), Words: []string{"text", "json"}, Help: "log format: text, json"},
		},
	)
}

func (f *flags) check(cmd *cobra.Command) error {
	if len(f.Conf.Interfaces) == 0 {
		return cli.Usagef("name an interface with -i; available: %s", cli.InterfaceNames())
	}
	if err := cli.CheckFlags(cmd.Flags()); err != nil {
		return err
	}
	if err := f.checkOutputs(); err != nil {
		return err
	}
	switch {
	case f.packetsToStdout() && len(f.Of) > 0 && (f.cfg.Reports == "" || outfile.IsStdout(f.cfg.Reports)):
		return cli.Usagef("standard output takes packets: name a file for counts with --reports")
	case f.cfg.Slide > 0 && len(f.Of) > 0 && f.Every > cli.MaxSlidingSpan:
		return cli.Usagef("--every of more than 366 days needs --slide 0")
	}
	if err := f.save.CheckFolder(); err != nil {
		return err
	}
	if err := f.chooseDefaults(cmd.Flags()); err != nil {
		return err
	}
	if err := errors.Join(f.rotate.Check(), f.CompareFlags.Check(cmd, &f.Common),
		f.KeepFlags.Check(cmd.Flags(), &f.CompareFlags, f.cfg.Outputs.Kept, f.writes()),
		f.checkSources(cmd.Flags()), f.KeyFlags.Check(), f.checkBudget(), f.RingFlags.Check(),
		f.HubFlags.Check(cmd.Flags(), &f.CompareFlags, &f.KeepFlags),
		f.net.Check(f.sources.Names(), f.rotate.Rotates(), append(f.outputs, f.cfg.Outputs.Removed)...)); err != nil {
		return err
	}
	named := cli.Files{Outputs: []cli.NamedFile{
		{Flag: "-w", Name: f.cfg.Outputs.Kept}, {Flag: "--duplicates", Name: f.cfg.Outputs.Removed}, {Flag: "--reports", Name: f.cfg.Reports}, {Flag: "--state", Name: f.cfg.State},
	}, Inputs: f.Filter.Files(), Rotate: &f.rotate, Rotating: []string{"-w", "--duplicates"}}
	return named.Check()
}

// checkSources sorts the values of -i, and rejects values without a meaning for them.
func (f *flags) checkSources(fs *pflag.FlagSet) (err error) {
	if f.sources, err = cli.ParseSources(f.Conf.Interfaces); err != nil {
		return err
	}
	if err := f.sources.Check(fs); err != nil {
		return err
	}
	return f.CheckInterfaces(&f.sources)
}

func (f *flags) packetsToStdout() bool {
	return outfile.IsStdout(f.cfg.Outputs.Kept) || outfile.IsStdout(f.cfg.Outputs.Removed)
}

func (f *flags) run(cmd *cobra.Command, e *cli.Env) error {
	if err := errors.Join(f.check(cmd), e.CheckTerminal(f.cfg.Outputs.Kept, f.cfg.Outputs.Removed)); err != nil {
		return err
	}
	if err := f.Finish(cmd); err != nil {
		return err
	}
	f.HubFlags.Complete(&f.Common)
	e.Quiet.Store(f.Quiet)
	f.WarnHold(e, f.Window)
	f.drawn = !f.Quiet && e.OnTerminal()
	cfg := f.config(cmd)
	if f.checks {
		return f.checkSystem(cmd, e, &cfg)
	}
	if err := f.compile(cmd.Context(), &cfg); err != nil {
		return cli.NameInterfaces(err)
	}
	display, err := f.newDisplay(e, cli.NewOrigin(cmd, f.Conf.Interfaces))
	if err != nil {
		return err
	}
	defer display.close()
	cfg.Status, cfg.Log = display.update, display.log
	network, err := f.net.Network(cmd, cfg.Log)
	if err != nil {
		return err
	}
	cfg.Outputs.TLS, cfg.MergeWait = network.TLS, network.MergeWait
	hub, err := f.Join(false, func(err error) { cfg.Log.Warn(err.Error()) })
	if err != nil {
		return err
	}
	defer hub.Close()
	cfg.Dedup.Hub = hub.Client()
	counts := sendCounts(hub, f.Token, f.save.To, func(err error) { cfg.Log.Warn(err.Error()) })
	if !outfile.IsStdout(cfg.Reports) && !cli.IsTerminal(display.stderr) {
		cfg.Reopen = e.OnHangup
	}
	summary, err := runLive(sink.LogNoReader(cmd.Context(), cfg.Log), cfg)
	err = cli.MarkUsage(err, errState)
	counts.finish()
	display.close()
	if summary.Method != "" {
		f.warn(e, &summary, cfg.Dedup.Choice.Flow)
		err = errors.Join(err, f.print(e, &summary))
	}
	return cli.NameInterfaces(err)
}

// compile compiles the filter for the kernel.
func (f *flags) compile(ctx context.Context, cfg *config) (err error) {
	switch {
	case len(f.sources.Interfaces) == 0: // the filter is applied to arriving packets
	case f.XDP() != nil:
		cfg.XDP = f.XDP()
		cfg.XDP.Filter, err = f.Filter.ForFrames(ctx)
	default:
		cfg.Ring.Filters, err = f.Filter.Programs(ctx, &cfg.Ring)
	}
	return err
}

// config returns the configuration of the run.
func (f *flags) config(cmd *cobra.Command) config {
	switch {
	case f.cfg.Reports == "" && f.drawn:
		f.cfg.Reports = os.DevNull // the display has the counts
	case f.cfg.Reports == "":
		f.cfg.Reports = "-"
	}
	if len(f.cfg.Outputs.Forward) > 0 && !cmd.Flags().Changed("workers") {
		f.Workers = 1 // one thread sends, and packets wait for it
	}
	f.Conf.Promiscuous = f.Conf.Promiscuous && !f.notPromiscuous
	filter := f.CompareFlags.Config(cmd, &f.Common)
	f.KeepFlags.Complete(&filter)
	filter.Zone = f.Calendar().Location
	captured := f.RingConfig(cmd, len(f.cfg.Outputs.Forward) > 0)
	captured.Interfaces = f.sources.Interfaces
	cfg := f.cfg
	cfg.Inputs, cfg.Addresses, cfg.Mirror, cfg.Ring = f.Conf.Interfaces, f.sources.Addresses, f.sources.Mirror(&captured), captured
	cfg.Filter, cfg.Dedup, cfg.Distinct = f.Filter.Wanted, filter, f.counters()
	cfg.Save, cfg.Sensor = f.save.To, cmp.Or(f.save.Sensor, f.Token.Site, cli.HostSensor())
	cfg.Outputs.Others, cfg.Outputs.Rotate = f.others(), f.rotate.Options()
	cfg.Outputs.Balance, cfg.Outputs.Spread = f.balance != "", f.onFailure == "spread"
	cfg.BeginAnew, cfg.KeyGiven, cfg.Learn = f.stateMismatch.Begins(), cmd.Flags().Changed("key") || f.Hub != "", f.learnConfig()
	return cfg
}

// counters returns the configuration of the counters.
func (f *flags) counters() count.Config {
	cfg := count.Config{Keys: f.Counted(), Config: windows.Config{
		Calendar: f.Calendar(), Method: "auto", FPR: cli.DefaultFPR, Secret: f.Secret, Past: f.past(),
		Budget: f.budget(), SetLimit: uint64(f.save.SetLimit),
	}}
	f.top.Complete(&cfg.Config)
	return cfg
}

// budget returns the memory of all counters together. It looks at the machine's memory
// only without the flag.
func (f *flags) budget() int {
	if f.distinctMemory == 0 {
		return layout.MemoryBudget()
	}
	return f.distinctMemory
}

// warn reports reasons to doubt the result, packets that the kernel dropped among them. keepFlow is
// --keep flow.
func (f *flags) warn(e *cli.Env, s *monitor.Summary, keepFlow bool) {
	dedup.WarnUnmatched(e, &s.Summary)
	dedup.WarnForgotten(e, &s.Summary)
	dedup.WarnUnchecked(e, &s.Summary)
	dedup.WarnSplit(e, &s.Conversations, f.keeps(), keepFlow)
	for i := range s.Interfaces {
		warnLosses(e, &s.Interfaces[i])
	}
	for _, n := range s.Forwards {
		if lost := n.Skipped() + n.Lost; lost > 0 {
			e.Warn(fmt.Errorf("%s: %d of %d packets %s not sent", n.Interface, lost, lost+n.Sent, show.Word(lost, "was", "were")))
		}
	}
}

// print writes the summary to the stream that gets neither packets nor counts.
func (f *flags) print(e *cli.Env, s *monitor.Summary) error {
	dedup.Notices(e, &s.Summary)
	cli.WarnUnopened(e, "packets", s.Unopened, s.PacketsIn)
	w := e.Stdout
	if f.packetsToStdout() || len(f.Of) > 0 && outfile.IsStdout(f.cfg.Reports) {
		w = e.Stderr
	}
	return f.Print(e, w, s, func(w io.Writer, columns int) error {
		return writeText(e.UnlessClosed(w), columns, s, f.keeps()) // a service may have none
	})
}
