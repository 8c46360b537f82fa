package cli

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/flowdedup/flowdedup/capture/outfile"
	"github.com/flowdedup/flowdedup/capture/ring"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/distinct"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/live"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/report"
	"github.com/flowdedup/flowdedup/layout"
)

// liveFlags are the flags of "flowdedup live".
type liveFlags struct {
	common
	judgeFlags
	keyFlags
	ringFlags
	output, duplicates, forward string
	rotate                      rotateFlags
	distinctMemory              int // 0 for layout.MemoryBudget
	reports                     string
	slide                       time.Duration
	state                       string
	stateEvery                  time.Duration
	user                        string
	notPromiscuous              bool
	packets                     uint64
	duration                    time.Duration
	logFormat                   string
	listen                      string
}

func newLive(e *env) *cobra.Command {
	f := &liveFlags{}
	cmd := &cobra.Command{
		Use:   "live -i IFACE [flags] [EXPRESSION...]",
		Short: "Remove duplicate packets from live traffic, and count it",
		Long: `Remove duplicate packets from what network interfaces see, as dedup does from
captures, while it is seen; write the packets kept to a file (pcapng), a pipe
or another interface, and count distinct addresses and flows per hour.

EXPRESSION is a filter as with tcpdump: only packets that match it are taken.
Of tcpdump's short flags there are -i, -w, -c, -s, -p, -B, -C, -G, -W and -Z.
Files of -G begin at multiples of it in UTC. -q is --quiet.

Copies are found across all interfaces (-i several times, or -i any), whatever
way they took; with --across only there. Packets that the kernel had to drop
are told, never hidden: a larger --ring-size rides out longer bursts.

A run ends with SIGINT or SIGTERM: what was captured until then is written,
files are completed and the summary is printed; the exit code is 130 or 143.
After --count or --duration it is 0. Without --wait a run also ends, with
exit code 1, when an interface goes down.

Needs CAP_NET_RAW and nothing else: run it as root, with --user to become
another user once interfaces are open, or setcap cap_net_raw+ep on the program.
Linux only.`,
		Example: `  # what the SPAN port delivers, without its copies, into Zeek
  flowdedup live -i eth1 -w - | zeek -r -

  # files of 100 MB of web traffic, of which the newest 24 are kept
  flowdedup live -i eth1 -w web.pcapng -C 100 -W 24 tcp port 443

  # two taps of one link, joined onto the interface that the sensor listens to
  flowdedup live -i tap0 -i tap1 --across --window 50ms --forward mon0

  # an hour's addresses and flows, line by line, as an unprivileged user
  flowdedup live -i eth1 --of src,dst,flow --reports counts.jsonl --user nobody`,
		Args:              f.filter.takeExpression,
		ValidArgsFunction: completeExpression,
		RunE:              func(cmd *cobra.Command, _ []string) error { return f.run(cmd, e) },
	}
	f.register(cmd)
	return cmd
}

func (f *liveFlags) register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.SortFlags = false
	f.registerInterfaces(fs)
	f.filter.register(fs)
	fs.StringVarP(&f.output, "write", "w", "", "write the packets kept to `FILE`, - for standard output")
	fs.StringVar(&f.duplicates, "duplicates", "", "write the packets removed to `FILE`")
	f.rotate.register(fs)
	fs.StringVar(&f.forward, "forward", "", "send the packets kept out of the interface `IFACE`")
	f.judgeFlags.register(fs)
	f.registerFilter(fs, usualMethods, measuringMethods()...)
	f.keyFlags.register(fs)
	fs.Var(newParsed(&f.distinctMemory, "", "size", parseMemory), "distinct-memory", "memory of all counters together, beyond which they count samples (default: an eighth of the memory or of the cgroup's limit)")
	fs.StringVar(&f.reports, "reports", "", "append the counts of each window to `FILE` as JSON lines (default: standard output)")
	f.ringFlags.register(fs)
	f.registerTcpdump(fs)
	f.slide, f.stateEvery = time.Minute, time.Minute
	fs.Var(newParsed(&f.slide, "1m", "duration", parseDelay), "slide", "how often to report the counts of the past --every as of then (0: never)")
	fs.StringVar(&f.state, "state", "", "save the run to `FILE`, and go on from there if it exists")
	fs.Var(newParsed(&f.stateEvery, "1m", "duration", parseEvery), "state-every", "how often to save it, beside the end")
	fs.StringVarP(&f.user, "user", "Z", "", "become the user `NAME`, also as UID or UID:GID, once interfaces are open")
	fs.Uint64VarP(&f.packets, "count", "c", 0, "end after `N` packets")
	fs.Var(newParsed(&f.duration, "", "duration", parseDelay), "duration", "end after this time")
	f.registerRun(fs)
	fs.StringVar(&f.listen, "listen", "", "serve /metrics, /healthz and a page at `ADDRESS`: 9469 for this host only, 0.0.0.0:9469 for all")
	f.logFormat = "text"
	fs.Var(newParsed(&f.logFormat, "text", "format", oneOf("text", "json")), "log", "log events on standard error as text or json")
	groupInput.add(fs, "count", "duration")
	groupCount.add(fs, "slide")
	groupOutput.add(fs, "write", "duplicates", "forward", "reports", "state", "listen", "log")
	groupAdvanced.add(fs, "distinct-memory", "state-every", "user")
	completeJudging(cmd)
	completeKeys(cmd)
	completeWords(cmd, map[string][]string{"log": {"text", "json"}, "fanout": fanouts, "distinct-memory": {"256MiB", "1GiB"}})
	for _, name := range []string{"interface", "forward"} {
		if err := cmd.RegisterFlagCompletionFunc(name, completeInterfaces); err != nil {
			panic("cli: " + err.Error()) // a flag that was never defined
		}
	}
}

func (f *liveFlags) check(cmd *cobra.Command) error {
	if err := checkNamed(cmd.Flags()); err != nil {
		return err
	}
	switch {
	case len(f.conf.Interfaces) == 0:
		return &usageError{fmt.Errorf("name at least one interface with -i: %s", interfaceNames())}
	case len(f.of) == 0 && f.reports != "":
		return &usageError{errors.New("--reports needs --of: what to count")}
	case f.packetsToStdout() && len(f.of) > 0 && (f.reports == "" || outfile.IsStdout(f.reports)):
		return &usageError{errors.New("standard output takes packets: name a file for the counts with --reports")}
	case f.state != "" && f.method == "exact":
		return &usageError{errors.New("--state cannot save --method exact: use --method timed")}
	case f.slide > 0 && len(f.of) > 0 && f.every > mostPast:
		return &usageError{errors.New("--every of more than 366 days needs --slide 0")}
	}
	if err := errors.Join(f.checkTcpdump(cmd.Flags()), f.rotate.check(f.output, f.duplicates), f.judgeFlags.check(cmd, &f.common), f.keyFlags.check(), f.ringFlags.check()); err != nil {
		return err
	}
	named := files{outputs: []namedFile{
		{"-w", f.output}, {"--duplicates", f.duplicates}, {"--reports", f.reports}, {"--state", f.state},
	}, inputs: f.filter.files()}
	return named.check()
}

// mostPast is what engine.Sliding counts over.
const mostPast = 366 * day

func (f *liveFlags) packetsToStdout() bool {
	return outfile.IsStdout(f.output) || outfile.IsStdout(f.duplicates)
}

func (f *liveFlags) run(cmd *cobra.Command, e *env) error {
	if err := errors.Join(f.check(cmd), e.checkTerminal(f.output, f.duplicates)); err != nil {
		return err
	}
	if err := f.finish(cmd.Flags()); err != nil {
		return err
	}
	e.quiet = f.quiet
	cfg := f.config(cmd)
	var err error
	if cfg.Ring.Filters, err = f.programs(cmd.Context()); err != nil {
		return named(err)
	}
	show, err := f.newShow(e)
	if err != nil {
		return err
	}
	defer show.close()
	cfg.Status, cfg.Log = show.update, show.log
	if !outfile.IsStdout(cfg.Reports) && !isTerminal(show.stderr) {
		cfg.Reopen = e.onHangup
	}
	summary, err := live.Run(cmd.Context(), cfg)
	show.close()
	if summary.Method != "" {
		warnForgotten(e, &summary.Summary)
		f.warnDropped(e, &summary)
		err = errors.Join(err, f.print(e, &summary))
	}
	return named(err)
}

// config says what to run.
func (f *liveFlags) config(cmd *cobra.Command) live.Config {
	if f.reports == "" {
		f.reports = "-"
	}
	past := time.Duration(0)
	if f.slide > 0 && len(f.of) > 0 {
		past = f.every
	}
	if f.forward != "" && !cmd.Flags().Changed("workers") {
		f.workers = 1 // sending is one thread's, and what packets wait for
	}
	f.conf.Promiscuous = f.conf.Promiscuous && !f.notPromiscuous
	return live.Config{
		Ring: f.ringConfig(cmd, f.forward != ""), Filter: f.filter.wanted, Dedup: f.judgeFlags.config(cmd, &f.common),
		Distinct: distinct.Config{
			Keys: f.keys(), Calendar: f.calendar(), Method: "auto", FPR: defaultFPR, Secret: f.secret, Past: past,
			Budget: f.budget(),
		},
		Output: f.output, Duplicates: f.duplicates, Forward: f.forward, Rotate: f.rotate.options(),
		Reports: f.reports, Slide: f.slide, State: f.state, StateEvery: f.stateEvery, KeyGiven: cmd.Flags().Changed("key"),
		User: f.user, Packets: f.packets, Duration: f.duration,
	}
}

// budget is the memory of all counters together. The machine is asked for its memory only
// when nothing is given, and not by commands that count nothing.
func (f *liveFlags) budget() int {
	if f.distinctMemory == 0 {
		return layout.MemoryBudget()
	}
	return f.distinctMemory
}

// warnDropped tells what the kernel dropped, and what was not forwarded.
func (f *liveFlags) warnDropped(e *env, s *live.Summary) {
	for i := range s.Interfaces {
		if n := &s.Interfaces[i]; n.Dropped > 0 {
			e.warn(fmt.Errorf("%s: the kernel dropped %d of %d packets, since a ring was full: use a larger --ring-size",
				n.Name, n.Dropped, n.Received))
		}
	}
	if n := s.Forward; n != nil {
		if lost := n.Cut + n.TooLong + n.Refused + n.Lost; lost > 0 {
			e.warn(fmt.Errorf("%s: %d of %d packets were not sent", n.Interface, lost, lost+n.Sent))
		}
	}
}

// print writes the summary where neither packets nor counts go.
func (f *liveFlags) print(e *env, s *live.Summary) error {
	noticeTunnels(e, &s.Summary)
	w := e.stdout
	if f.packetsToStdout() || len(f.of) > 0 && outfile.IsStdout(f.reports) {
		w = e.stderr
	}
	return f.printTo(w, s)
}

func (f *liveFlags) printTo(w io.Writer, s *live.Summary) error {
	switch {
	case f.json:
		return report.LiveJSON(w, s)
	case f.quiet:
		return nil
	}
	return report.LiveText(w, s, f.output != "" || f.forward != "")
}

// named lists the interfaces there are where one was not found.
func named(err error) error {
	if errors.Is(err, ring.ErrNoInterface) {
		return fmt.Errorf("%w; there are %s", err, interfaceNames())
	}
	return err
}

// interfaceNames lists the interfaces of this machine.
func interfaceNames() string {
	all, err := net.Interfaces()
	if err != nil {
		return err.Error()
	}
	var names []string
	for i := range all {
		names = append(names, all[i].Name)
	}
	return strings.Join(append(names, ring.Any), ", ")
}

func completeInterfaces(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return strings.Split(interfaceNames(), ", "), cobra.ShellCompDirectiveNoFileComp
}
