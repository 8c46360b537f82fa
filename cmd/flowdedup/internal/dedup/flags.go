// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"errors"
	"fmt"
	"io"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/flowdedup/flowdedup/capture/outfile"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/sink"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/page"
)

// flags are the flags of "flowdedup dedup".
type flags struct {
	cli.Common
	named cli.InputFlags
	sort  cli.SortFlags
	CompareFlags
	KeepFlags
	ForFlag
	HubFlags
	output, duplicates string
	removed            string
	inPlace            bool
	rotate             cli.RotateFlags
	net                cli.NetFlags
	page               cli.PageFlag
}

// Command returns "flowdedup dedup".
func Command(e *cli.Env) *cobra.Command {
	f := &flags{}
	cmd := &cobra.Command{
		Use:   "dedup [flags] INPUT...",
		Short: "Remove duplicate packets from captures",
		Long: `Remove duplicate packets from pcap and pcapng captures, plain or compressed
(gzip, zstd, lz4). - is standard input or output. A folder as input is all
captures in it, and as output gets a file for each input, with its name and
format. Without -w packets are only counted. Several inputs are merged in time
order, and --sort 1s sorts packets that are out of order by up to a second.
tcp://HOST:PORT is an input or output that is connected to,
tcp-listen://:PORT one that others connect to.

A packet is a duplicate when the latest kept packet of equal identity lies
within the window, before or after it. A removed packet does not restart the
window unless --refresh is given, so a beacon is never silenced for ever.

Identities:
  l3     The packet from the outermost IP header on. TTL or hop limit, DSCP,
         ECN, DF and IPv4 header checksum do not count, so copies on another
         VLAN or behind a router are found. Frames without IP are compared by
         hardware addresses, ethertype and payload. Tags of VLANs and HSR
         rings, PRP trailers, padding and a known frame check sequence do not
         count. Captures on "any" lack the destination address: their frames
         without IP never match frames captured on Ethernet. Wireless frames
         that are encrypted, or no data, are compared whole, without the header
         of the radio.
  frame  The whole frame and its original length, without the header of a
         radio.
  inner  Like l3, after opening GRE, ERSPAN, VXLAN, GENEVE, GTP-U, IP-in-IP,
         L2TP, LISP, CAPWAP, LWAPP, Teredo, GUE, TZSP, EoIP, EtherIP, WCCP,
         jmirror, and MPLS or Ethernet in IP, and what --tunnel names. VNI,
         TEID, GRE key and the like do not count: equal packets of two tenants
         with the same addresses are copies.

--ignore tcp-seq finds copies behind a firewall that renumbers TCP. It ignores
sequence and acknowledgment numbers, those in SACK blocks, and the TCP
checksum. Segments that differ in nothing else become copies of each other.
--ignore mss finds copies behind a router that lowers the maximum segment size.

If packets are written, all packets of a conversation are taken from one
capture point (VLAN, tunnel, interface, input). A packet that this point did
not see is taken from another one. So each packet stays once, and analyzers
that key flows by VLAN or interface see whole conversations. --keep first keeps
the first of equal packets instead. --prefer EXPR keeps the copy that matches.
A packet that is first seen at another point waits up to --hold for its better
copy. --strip writes packets without the headers that differ, --slice only the
beginning of each.

If copies may differ in checksums or length (--ignore l4-checksum,
--identity-bytes), whole packets with the right checksum of TCP, UDP or ICMP
take precedence over others; --keep decides between equals. --prefer first
turns that off. A packet that no receiver takes (wrong IPv4 header checksum,
TTL 0) never replaces a right one.

--for names the program that reads the kept packets, and sets --keep, --strip
and --ignore as the program needs them with its own defaults. Flags that you
give override these. A flag that would blind the program is refused. Of equal
packets the one without tunnels, labels and other headers stays that not all
such programs open.

--within finds copies in one VLAN, tunnel (vni, with --identity inner),
interface, input or LAN of PRP only, for tenants with the same addresses.
With vlan:10+110,20+120 a tenant may have several VLANs, in a group.
--only and --protect exempt packets. EXPR is a filter expression, interface
NAME, or input NAME. As in --filter, 'host 10.0.0.1' does not match behind a
VLAN tag: write 'host 10.0.0.1 or (vlan and host 10.0.0.1)'.

The output keeps the format of the input, and in pcapng every block and option.
A name that ends with .pcap or .pcapng (or .pcap.gz and the like) chooses the
format. --rotate-size and --rotate-every write several files. Each has the time
of its first packet in its name and is a complete capture.`,
		Example: `  # count what a SPAN port delivered twice
  flowdedup dedup span.pcap

  # write the kept and the removed packets
  flowdedup dedup span.pcapng -w clean.pcapng --duplicates copies.pcapng

  # keep the last day of a long capture, an hour a file
  flowdedup dedup - -w clean.pcapng --rotate-every 1h --rotate-keep 24

  # clean a folder of rotated files one to one
  flowdedup dedup rot/ -w clean/

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

func (f *flags) register(cmd *cobra.Command) {
	cli.Define(cmd,
		[]cli.Flag{f.named.Flag()},
		f.sort.Flags(),
		[]cli.Flag{
			{Name: "write", Short: "w", Group: cli.GroupOutput, To: &f.output, Help: "write kept packets to `FILE` (-: stdout; folder/: a file for each input)"},
			{Name: "duplicates", Group: cli.GroupOutput, To: &f.duplicates, Help: "write removed packets to `FILE`"},
			{Name: "removed", Group: cli.GroupOutput, To: &f.removed, Not: []string{"mark: it removes none"}, Help: "list removed packets in `FILE` as CSV: number, original, delay, points"},
			{Name: "in-place", Group: cli.GroupOutput, To: &f.inPlace, Help: "let -w replace an input"},
			f.page.Flag("with copies over time"),
		},
		f.rotate.Flags(),
		f.net.Flags(),
		[]cli.Flag{f.net.MergeFlag()},
		f.CompareFlags.Flags(),
		[]cli.Flag{cli.ZoneFlag(&f.Part.Zone, cli.GroupCompare, "landmark windows, --from, --to")},
		f.KeepFlags.Flags(),
		[]cli.Flag{f.ForFlag.Flag()},
		f.HubFlags.Flags(fileVerdictWait),
		f.Common.Flags(UsualMethods, MeasuringMethods()...),
	)
}

func (f *flags) check(cmd *cobra.Command, inputs []string) error {
	if err := errors.Join(cli.CheckFlags(cmd.Flags()), f.Part.Check()); err != nil {
		return err
	}
	if err := cli.CheckZone(cmd.Flags(), f.Window); err != nil {
		return err
	}
	if err := f.ForFlag.Apply(cmd.Flags(), &f.CompareFlags, &f.KeepFlags, f.output != "" || f.duplicates != "" || f.removed != ""); err != nil {
		return err
	}
	if err := errors.Join(f.rotate.Check(), f.CompareFlags.Check(cmd, &f.Common),
		f.KeepFlags.Check(cmd.Flags(), &f.CompareFlags, f.output, f.duplicates != "" || f.removed != ""), f.checkInputs(inputs), f.page.Check(&f.Common),
		f.HubFlags.Check(cmd.Flags(), &f.CompareFlags, &f.KeepFlags),
		f.net.Check(inputs, f.rotate.Rotates(), f.output, f.duplicates), f.net.CheckMerge(cmd.Flags(), inputs), f.sort.Check(inputs)); err != nil {
		return err
	}
	kept, removed := cli.NamedFile{Flag: "-w", Name: f.output}, cli.NamedFile{Flag: "--duplicates", Name: f.duplicates}
	if err := f.checkFolders(inputs, kept, removed); err != nil {
		return err
	}
	named := cli.Files{Outputs: []cli.NamedFile{kept, removed, {Flag: "--removed", Name: f.removed}, f.page.Named()}, Inputs: append(f.Filter.Files(), inputs...), InPlace: "-w", Allowed: f.inPlace, Rotate: &f.rotate, Rotating: []string{"-w", "--duplicates"}}
	return cli.HintOutput(named.Check(), inputs, f.output)
}

// checkFolders rejects flags of files for outputs in folders.
func (f *flags) checkFolders(inputs []string, outputs ...cli.NamedFile) error {
	for _, out := range outputs {
		switch {
		case f.rotate.Rotates() || !sink.IsFolder(out.Name):
			continue
		case f.choice.Mark:
			return cli.Usagef("--mark numbers the packets of one file, and %s %s is a folder", out.Flag, out.Name)
		}
		if err := cli.CheckFolder(out, inputs); err != nil {
			return err
		}
	}
	return nil
}

func (f *flags) run(cmd *cobra.Command, e *cli.Env, args []string) error {
	if err := errors.Join(f.check(cmd, args), e.CheckTerminal(f.output, f.duplicates)); err != nil {
		return err
	}
	if err := f.Finish(cmd); err != nil {
		return err
	}
	f.HubFlags.Complete(&f.Common)
	network, err := f.net.Network(cmd, e.Logger())
	if err != nil {
		return err
	}
	e.Quiet.Store(f.Quiet)
	f.named.WarnPassed(e)
	f.named.HintFolder(e, f.output)
	bar := cli.NewProgress(e, &f.Common)
	defer bar.Close()
	f.WarnHold(e, f.Window)
	cfg := f.Config(cmd, &f.Common)
	f.KeepFlags.Complete(&cfg)
	cfg.Zone = f.Part.Zone
	hub, err := f.Join(true, e.Warn)
	if err != nil {
		return err
	}
	defer hub.Close()
	defer hub.hurry(cmd.Context())()
	cfg.Hub = hub.Client()
	cfg.Inputs, cfg.Input = args, f.Inputs(e, bar)
	cfg.Input.Network, cfg.Input.Sort = network, f.sort.Config(cmd.Flags())
	cfg.Output, cfg.Duplicates, cfg.Removed, cfg.Rotate, cfg.Log = f.output, f.duplicates, f.removed, f.rotate.Options(), e.Logger()
	cfg.Timeline = f.page.Given()
	file, err := f.page.Open(cmd, args)
	if err != nil {
		return err
	}
	summary, err := Run(cmd.Context(), cfg)
	bar.Close()
	warnUnsorted(e, &summary, f.sort.Span)
	WarnUnmatched(e, &summary)
	warnUndecidable(e, &summary)
	if err := CutWarning(&summary); err != nil {
		e.Warn(err)
	}
	WarnForgotten(e, &summary, "give captures that were concatenated as separate inputs, which are merged by time")
	WarnUnchecked(e, &summary)
	WarnSplit(e, &summary.Conversations, f.output != "", cfg.Choice.Flow)
	return errors.Join(cli.MarkDamage(err, summary.PacketsIn+summary.Filtered, summary.Damaged), f.lost(err), f.print(e, &summary, err),
		file.Write(!hasNoResult(&summary, err), func(of cli.Origin) *page.Page { return newPage(&summary, of, f.output != "") }))
}

// lost reports that both outputs are incomplete because the reader of one output left. A reader
// that leaves the only output is no failure.
func (f *flags) lost(err error) error {
	if f.output == "" || f.duplicates == "" || !errors.Is(err, sink.ErrOutput) || !errors.Is(err, syscall.EPIPE) {
		return nil
	}
	return fmt.Errorf("-w %s and --duplicates %s are incomplete: the reader of one of them left", f.output, f.duplicates)
}

// hasNoResult reports that a run read nothing, or could not write its packets.
func hasNoResult(s *Summary, err error) bool {
	return s.Method == "" || cli.NothingRead(s.PacketsIn+s.Filtered, err) || errors.Is(err, sink.ErrOutput)
}

// print writes the summary to the stream that gets no packets.
func (f *flags) print(e *cli.Env, s *Summary, err error) error {
	if hasNoResult(s, err) {
		return nil
	}
	Notices(e, s)
	cli.WarnUnopened(e, "packets", s.Unopened, s.PacketsIn)
	w := e.Stdout
	if outfile.IsStdout(f.output) || outfile.IsStdout(f.duplicates) || outfile.IsStdout(f.removed) {
		w = e.Stderr
	}
	return f.Print(e, w, s, func(w io.Writer, columns int) error {
		if f.output != "" {
			w = e.UnlessClosed(w)
		}
		return writeText(w, columns, s, f.output != "")
	})
}
