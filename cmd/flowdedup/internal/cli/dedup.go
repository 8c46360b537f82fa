// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/flowdedup/flowdedup/capture/flow"
	"github.com/flowdedup/flowdedup/capture/outfile"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/dedup"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/method"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/report"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/sink"
	"github.com/flowdedup/flowdedup/engine"
)

// dedupFlags are the flags of "flowdedup dedup".
type dedupFlags struct {
	Common
	named InputFlags
	sort  SortFlags
	compareFlags
	keepFlags
	profileFlags
	hubFlags
	output, duplicates string
	inPlace            bool
	rotate             RotateFlags
	net                NetFlags
	page               PageFlag
}

func NewDedup(e *Env) *cobra.Command {
	f := &dedupFlags{}
	cmd := &cobra.Command{
		Use:   "dedup [flags] INPUT...",
		Short: "Remove duplicate packets from captures",
		Long: `Remove duplicate packets from pcap and pcapng captures, plain or compressed
(gzip, zstd, lz4). - is standard input or output. Without -w packets are only
counted. Several inputs are merged in time order, and --sort 1s sorts packets
that are out of order by up to a second. tcp://HOST:PORT is an input or output
that is connected to, tcp-listen://:PORT one that others connect to.

A packet is a duplicate when the latest kept packet of equal identity lies
within the window, before or after it. A removed packet does not restart the
window unless --refresh is given, so a beacon is never silenced for ever.

Identities:
  l3     The packet from the outermost IP header on. TTL or hop limit, DSCP,
         ECN and the IPv4 header checksum do not count, so copies on another
         VLAN or behind a router are found. Frames without IP are compared by
         hardware addresses, ethertype and payload. Tags of VLANs and HSR
         rings, PRP trailers, padding and a known frame check sequence do not
         count. Frames of an "any" capture have no destination address, so
         they equal only each other. Wireless frames that are encrypted, or no
         data, are compared whole, without what the radio says of them.
  frame  The whole frame and its original length, without what a radio says
         of it.
  inner  Like l3, after opening GRE, ERSPAN, VXLAN, GENEVE, GTP-U, IP-in-IP,
         L2TP, LISP, TZSP, EoIP, EtherIP, WCCP, jmirror, and MPLS or Ethernet
         in IP. VNI, TEID, GRE key and the like do not count: equal packets of
         two tenants with the same addresses are copies.

--ignore tcp-seq finds copies behind a firewall that renumbers TCP. It ignores
sequence and acknowledgment numbers, those in SACK blocks, and the TCP
checksum. Segments that differ in nothing else become copies of each other.

Where packets are written, all of a conversation are kept as one capture point
(VLAN, tunnel, interface, input) saw them, and others where that point saw
none: each packet stays once, and analyzers to which a VLAN or an interface is
part of a flow see whole conversations. --keep first keeps the first of equal
packets instead. --prefer EXPR keeps the copy that matches. A packet that is
first seen at another point waits up to --hold for its better copy. --strip
writes packets without the headers that differ, --slice only the beginning of
each.

Where copies may differ in checksums or in what was captured (--ignore
l4-checksum, --identity-bytes), whole packets with the right checksum of TCP,
UDP or ICMP are written before others, which --keep decides between. --prefer
first turns that off.

--for names the program that reads what is kept, and sets --keep, --strip and
--ignore as that program needs them with its own defaults. What you give counts
more. What would make the program blind is refused.

--within finds copies in one VLAN, tunnel (vni, with --identity inner),
interface, input or LAN of PRP only, for tenants with the same addresses.
--only and --protect leave packets alone. EXPR is a filter expression,
interface NAME, or input NAME. As in --filter, 'host 10.0.0.1' does not match
behind a VLAN tag: write 'host 10.0.0.1 or (vlan and host 10.0.0.1)'.

The output keeps the format of the input, and in pcapng every block and option.
A name that ends with .pcap or .pcapng (or .pcap.gz and the like) chooses the
format. --rotate-size and --rotate-every write several files. Each has the time
of its first packet in its name and can be read alone.`,
		Example: `  # count what a SPAN port delivered twice
  flowdedup dedup span.pcap

  # write the kept and the removed packets
  flowdedup dedup span.pcapng -w clean.pcapng --duplicates copies.pcapng

  # keep the last day of a long capture, an hour a file
  flowdedup dedup - -w clean.pcapng --rotate-every 1h --rotate-keep 24

  # join two taps of one link: only a packet from the other tap is a copy
  flowdedup dedup --across --window 50ms tap-a.pcap tap-b.pcap -w link.pcapng

  # as Suricata needs it: also zeek, arkime, wireshark
  flowdedup dedup span.pcapng --for suricata -w clean.pcapng

  # keep copies from the core, else from the edge; write them without tags
  flowdedup dedup all.pcapng --prefer 'vlan 10' --prefer 'interface edge0' \
    --strip vlan -w clean.pcapng

  # headers and 64 bytes of payload, sorted by time
  flowdedup dedup span.pcapng --sort 1s --slice l4+64 -w heads.pcapng

  # two tenants with equal addresses, mirrored by VXLAN
  flowdedup dedup mirror.pcap --identity inner --within vni -w clean.pcap

  # show in Wireshark what would be removed (frame.comment)
  flowdedup dedup span.pcapng --mark -w marked.pcapng

  # join what sensors send with tcpdump -U -w - | nc HOST 57012, for tshark
  flowdedup dedup tcp-listen://0.0.0.0:57012 -w tcp-listen://:57013

  # de-duplicate in a pipe
  zcat big.pcap.gz | flowdedup dedup --for zeek - -w - | zeek -r -`,
		Args: f.named.Check,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, e, f.named.All(args)) },
	}
	f.register(cmd)
	return cmd
}

func (f *dedupFlags) register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.SortFlags = false
	f.named.Register(fs)
	f.sort.Register(fs)
	fs.StringVarP(&f.output, "write", "w", "", "write kept packets to `FILE` (-: stdout)")
	fs.StringVar(&f.duplicates, "duplicates", "", "write removed packets to `FILE`")
	fs.BoolVar(&f.inPlace, "in-place", false, "let -w replace an input")
	GroupOutput.Add(fs, "write", "duplicates", "in-place")
	f.page.Register(fs, "with copies over time")
	f.rotate.Register(fs)
	f.net.Register(fs)
	f.net.RegisterMerge(fs)
	f.compareFlags.register(fs)
	f.keepFlags.register(cmd)
	f.profileFlags.register(cmd)
	f.hubFlags.register(cmd, fileVerdictWait)
	f.Common.Register(fs, usualMethods, measuringMethods()...)
	completeCompare(cmd)
	CompleteWords(cmd, map[string][]string{"filter": FilterWords, "sort": SortWords})
}

func (f *dedupFlags) check(cmd *cobra.Command, inputs []string) error {
	if err := CheckNamed(cmd.Flags()); err != nil {
		return err
	}
	if err := f.profileFlags.apply(cmd.Flags(), &f.compareFlags, &f.keepFlags, f.output != "" || f.duplicates != ""); err != nil {
		return err
	}
	if err := errors.Join(f.rotate.Check(f.output, f.duplicates), f.compareFlags.check(cmd, &f.Common),
		f.keepFlags.check(cmd.Flags(), &f.compareFlags, f.output, f.duplicates != ""), f.checkInputs(inputs), f.page.Check(&f.Common),
		f.hubFlags.check(cmd.Flags(), &f.Common, &f.compareFlags, &f.keepFlags),
		f.net.Check(inputs, f.rotate.Rotates(), f.output, f.duplicates), f.net.CheckMerge(cmd.Flags(), inputs), f.sort.Check(cmd.Flags(), inputs)); err != nil {
		return err
	}
	named := Files{Outputs: []NamedFile{{"-w", f.output}, {"--duplicates", f.duplicates}, f.page.Named()}, Inputs: append(f.Filter.Files(), inputs...), InPlace: "-w", Allowed: f.inPlace}
	return hintOutput(named.Check(), inputs, f.output)
}

func (f *dedupFlags) run(cmd *cobra.Command, e *Env, args []string) error {
	if err := errors.Join(f.check(cmd, args), e.CheckTerminal(f.output, f.duplicates)); err != nil {
		return err
	}
	if err := f.Finish(cmd.Flags()); err != nil {
		return err
	}
	f.hubFlags.complete(&f.Common)
	network, err := f.net.Network(cmd.Flags())
	if err != nil {
		return err
	}
	e.Quiet.Store(f.Quiet)
	bar := NewProgress(e, &f.Common)
	defer bar.Close()
	f.warnHold(e, f.Window)
	cfg := f.config(cmd, &f.Common)
	f.keepFlags.complete(&cfg)
	hub, err := f.join(true, e.Warn)
	if err != nil {
		return err
	}
	defer hub.close()
	defer hub.hurry(cmd.Context())()
	cfg.Hub = hub.of()
	cfg.Inputs, cfg.Input = args, f.Inputs(e, bar)
	cfg.Input.Network, cfg.Input.Sort = network, f.sort.config(cmd.Flags())
	cfg.Output, cfg.Duplicates, cfg.Rotate, cfg.Log = f.output, f.duplicates, f.rotate.Options(), e.Logger()
	cfg.Timeline = f.page.Given()
	page, err := f.page.Open(cmd.Context())
	if err != nil {
		return err
	}
	summary, err := dedup.Run(cmd.Context(), cfg)
	bar.Close()
	f.sort.warnUnsorted(e, &summary)
	warnUnmatched(e, &summary)
	warnUndecidable(e, &summary)
	warnForgotten(e, &summary, "give captures that were concatenated as separate inputs, which are merged by time")
	warnUnchecked(e, &summary)
	warnSplit(e, &summary.Conversations, f.output != "", cfg.Choice.Flow)
	return errors.Join(MarkDamage(err, summary.PacketsIn+summary.Filtered, summary.Damaged), f.lost(err), f.print(e, &summary, err), f.write(page, &summary, err))
}

// lost reports that both outputs are incomplete because the reader of one left. With one
// output that is no failure.
func (f *dedupFlags) lost(err error) error {
	if f.output == "" || f.duplicates == "" || !errors.Is(err, sink.ErrOutput) || !errors.Is(err, syscall.EPIPE) {
		return nil
	}
	return fmt.Errorf("-w %s and --duplicates %s are incomplete: the reader of one of them left", f.output, f.duplicates)
}

// warnForgotten reports packets that the filter forgot too early, and how much memory
// would have been enough. aboutTime is advice about time that goes back; it comes first.
func warnForgotten(e *Env, s *dedup.Summary, aboutTime ...string) {
	switch {
	case s.EvictedLive > 0 && s.SuggestedMemory == 0 && s.Window != "none": // so few that hardly any had a copy
	case s.EvictedLive > 0 && s.SuggestedMemory == 0:
		e.Warn(fmt.Errorf("%d packets were forgotten for newer ones: duplicates may remain", s.EvictedLive))
	case s.EvictedLive > 0:
		e.Warn(fmt.Errorf("%d packets were forgotten before their window ended: duplicates may remain; use --memory %s or more",
			s.EvictedLive, show.FlagBytes(s.SuggestedMemory)))
	}
	if s.LateForgotten > 0 {
		if slices.Contains([]string{method.Timers, method.Coarse, method.Fine, method.Partitioned}, s.Method) { // whatever its memory
			aboutTime = append(aboutTime, "use --method timed")
		}
		e.Warn(lateWarning(&s.Late, aboutTime))
	}
	if s.SharedPoints > 0 {
		e.Warn(fmt.Errorf("more than %d capture points: %d packets were seen at points that count as one, and duplicates among them remain",
			flow.MaxCapturePoints, s.SharedPoints))
	}
	if s.SkippedBlocks > 0 {
		e.Warn(fmt.Errorf("%d pcapng blocks could not be carried over into the output", s.SkippedBlocks))
	}
}

// muchSplit is the share of sampled conversations that may be kept in parts without a
// warning. Few are on any network: hosts move, and ports are used again.
const muchSplit = 0.01

// warnSplit says what to do where packets were written for an analyzer that would see one
// side of each conversation. Tags alone have that effect: interfaces are not seen in what
// is written. Where copies were taken from one point already (flow), that could not help.
func warnSplit(e *Env, n *show.Conversations, written, flow bool) {
	if !written || flow || float64(n.Tagged) <= muchSplit*float64(n.Sampled) {
		return
	}
	e.Warn(fmt.Errorf("%d of %d sampled conversations were kept from more than one %s, and an analyzer that tracks flows by %[3]s sees one side of each: use %s (the manual, keep.md)",
		n.Tagged, n.Sampled, n.Tags(), strings.Join(n.Advice, " or ")))
}

// lateWarning says how far time went back, and what the user can do.
func lateWarning(l *engine.LateStats, advice []string) error {
	if l.SuggestedMemory > 0 {
		advice = append(advice, "use --memory "+show.FlagBytes(l.SuggestedMemory)+" or --method exact")
	}
	precision := time.Millisecond
	if l.By < precision {
		precision = time.Microsecond
	}
	text := fmt.Sprintf("time goes back by about %s at packet %d, and %d packets are older than what is still remembered, so duplicates may remain",
		l.By.Round(precision), l.First, l.Elements)
	if len(advice) > 0 {
		text += ": " + strings.Join(advice, ", or ")
	}
	return errors.New(text)
}

// write writes the page, unless there is nothing to say.
func (f *dedupFlags) write(page PageFile, s *dedup.Summary, err error) error {
	if untold(s, err) {
		return page.Discard()
	}
	return page.Write(func(w io.Writer) error { return report.DedupPage(w, s, f.output != "") })
}

// untold reports that a run read nothing, or could not write what it read.
func untold(s *dedup.Summary, err error) bool {
	nothingRead := s.PacketsIn+s.Filtered == 0 && err != nil && !errors.Is(err, context.Canceled)
	return s.Method == "" || nothingRead || errors.Is(err, sink.ErrOutput)
}

// print writes the summary to the stream that gets no packets.
func (f *dedupFlags) print(e *Env, s *dedup.Summary, err error) error {
	if untold(s, err) {
		return nil
	}
	noticeTunnels(e, s)
	WarnUnopened(e, "packets", s.Unopened, s.PacketsIn)
	w := e.Stdout
	if outfile.IsStdout(f.output) || outfile.IsStdout(f.duplicates) {
		w = e.Stderr
	}
	if f.output != "" && !f.JSON {
		return f.printTo(e.UnlessClosed(w), s)
	}
	return f.printTo(w, s)
}

func (f *dedupFlags) printTo(w io.Writer, s *dedup.Summary) error {
	switch {
	case f.JSON:
		return report.DedupJSON(w, s)
	case f.Quiet:
		return nil
	}
	return report.DedupText(w, s, f.output != "")
}
