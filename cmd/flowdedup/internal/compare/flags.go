// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/flowdedup/flowdedup/capture/compare"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/identity"
	"github.com/flowdedup/flowdedup/capture/outfile"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/sink"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/page"
)

// flags are the flags of "flowdedup compare".
type flags struct {
	cli.Common
	net           cli.NetFlags
	page          cli.PageFlag
	only          [2]string
	window        time.Duration
	identity      identity.Kind
	identityBytes int
	ignore        identity.Ignore
	tunnels       *headers.Tunnels
	top           int
	lans          bool
}

// Command returns "flowdedup compare".
func Command(e *cli.Env) *cobra.Command {
	f := &flags{}
	cmd := &cobra.Command{
		Use:   "compare [flags] A B | --lans FILE",
		Short: "Match two captures: loss, delays, clock drift, reordering",
		Long: `Match the packets of two captures of the same traffic one to one: of two taps,
of both sides of a router or a firewall, of a SPAN port and a tap. Report which
packets are in both, only in A or only in B (loss), the offset and drift of the
clocks, how much delays vary, and how many packets were reordered.

The clocks may differ by any offset. It is found first, by equal packets among
the first ones of both. If these do not decide, files are read twice, and pipes
are refused. Equal packets then match in order, within --window of the offset.
Delays are counted from the fastest packet, with offset and drift removed: all
that unsynchronized clocks allow.

Packets are equal as in dedup. If some were truncated, only the bytes that both
sides have are compared, and the summary says how many.

With --lans, A is LAN A of a network with PRP (IEC 62439-3), and B is LAN B: of
one capture that has both, or of two. In an HSR ring, A and B are the
directions of frames that were sent at port A and at port B.

Run dedup on both captures first: packets that come twice match wrongly.

Captures do not begin and end together: packets of one side from before the
first or after the last packet of the other are counted apart, and are no loss.

Exit codes: 0 the same packets are in both, in the time that both have, 4 they
differ, 3 an input is damaged and the rest was compared, 1 failed, 2 wrong
usage.`,
		Example: `  # does the new tap see what the old one sees?
  flowdedup compare old.pcap new.pcap

  # the packets that a firewall dropped
  flowdedup compare inside.pcap outside.pcap --only-a dropped.pcap

  # what each LAN of a network with PRP lost
  flowdedup compare --lans substation.pcapng --only-a lost-on-b.pcapng

  # in a script: test a tap
  flowdedup compare --quiet sent.pcap tapped.pcap || echo "it loses packets"

  # loss and drift as numbers
  flowdedup compare --json a.pcap b.pcap | jq '.only_a, .drift_ppm'`,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case f.lans && len(args) == 1:
				args = append(args, args[0])
			case len(args) != 2:
				return cli.Usagef("compare needs two captures, A and B, and got %d", len(args))
			case args[0] == "" || args[1] == "":
				return cli.Usagef("an input's name is empty")
			case args[0] == "-" && args[1] == "-":
				return cli.Usagef("standard input can be read only once")
			}
			return cli.CheckExpression(args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd, e, [2]string{args[0], args[len(args)-1]})
		},
	}
	f.register(cmd)
	return cmd
}

func (f *flags) register(cmd *cobra.Command) {
	f.top = 10
	cli.Define(cmd,
		[]cli.Flag{
			{Name: "only-a", Group: cli.GroupOutput, To: &f.only[0], Help: "write the packets that only A has to `FILE` (-: stdout)"},
			{Name: "only-b", Group: cli.GroupOutput, To: &f.only[1], Help: "write the packets that only B has to `FILE`"},
			{Name: "lans", Group: cli.GroupCompare, To: &f.lans, Help: "compare the LANs of PRP, or both directions of an HSR ring"},
			f.Part.ZoneFlag(),
			f.page.Flag("with the delays and what was lost"),
		},
		f.Filter.Flags(),
		f.Part.Flags(),
		f.net.Flags(),
		[]cli.Flag{
			{Name: "window", Group: cli.GroupCompare, To: cli.NewParsed(&f.window, compare.DefaultWindow.String(), "duration", cli.ParseLength), Words: []string{"100ms", "10ms", "1s"}, Help: "match packets within this time of the offset"},
			cli.IdentityFlag(&f.identity),
			cli.IgnoreFlag(&f.ignore),
			cli.TunnelFlag(&f.tunnels),
			{Name: "identity-bytes", Group: cli.GroupAdvanced, To: &f.identityBytes, Help: "compare only the first `N` bytes of the identity (0: what both sides have)"},
		},
		f.RunFlags(),
		[]cli.Flag{
			{Name: "top", Group: cli.GroupOutput, To: &f.top, Words: []string{"10", "100"}, Help: "list `N` conversations"},
			{Name: "memory", Group: cli.GroupAdvanced, To: cli.NewParsed(&f.Memory, show.Bytes(compare.DefaultMemory), "size", cli.ParseMemory), Words: []string{"64MiB", "256MiB", "1GiB"}, Help: "memory for packets: 64MiB"},
			f.ProgressFlag(),
		},
	)
}

func (f *flags) check(cmd *cobra.Command, e *cli.Env, inputs [2]string) error {
	if err := errors.Join(cli.CheckFlags(cmd.Flags()), f.Part.Check()); err != nil {
		return err
	}
	switch {
	case f.identityBytes < 0:
		return cli.Usagef("--identity-bytes must not be negative")
	case f.lans && inputs[0] == inputs[1] && !readTwice(inputs[0]):
		return cli.Usagef("--lans reads a capture twice, so %s must be a file", inputs[0])
	case f.top < 0:
		return cli.Usagef("--top must not be negative")
	case outfile.IsStdout(f.only[0]) && outfile.IsStdout(f.only[1]):
		return cli.Usagef("--only-a and --only-b cannot both be standard output")
	}
	errs := []error{f.net.Check(inputs[:], false, f.only[:]...), e.CheckTerminal(f.only[:]...), f.page.Check(&f.Common)}
	for _, input := range inputs { // a capture may be compared with itself
		named := cli.Files{Outputs: []cli.NamedFile{{Flag: "--only-a", Name: f.only[0]}, {Flag: "--only-b", Name: f.only[1]}, f.page.Named()}, Inputs: append(f.Filter.Files(), input)}
		errs = append(errs, named.Check())
	}
	return errors.Join(errs...)
}

// readTwice reports whether an input, if it is there, can be read twice.
func readTwice(name string) bool {
	info, err := os.Stat(name)
	return name != "-" && !strings.Contains(name, "://") && (err != nil || info.Mode().IsRegular())
}

func (f *flags) run(cmd *cobra.Command, e *cli.Env, inputs [2]string) error {
	if err := f.check(cmd, e, inputs); err != nil {
		return err
	}
	if err := f.Finish(cmd); err != nil {
		return err
	}
	network, err := f.net.Network(cmd, e.Logger())
	if err != nil {
		return err
	}
	file, err := f.page.Open(cmd, inputs[:])
	if err != nil {
		return err
	}
	e.Quiet.Store(f.Quiet)
	bar := cli.NewProgress(e, &f.Common)
	defer bar.Close()
	cfg := config{
		Inputs: inputs, LANs: f.lans, Input: f.Inputs(e, bar), Only: f.only, Log: e.Logger(),
		Config: compare.Config{
			Identity: identity.Config{Kind: f.identity, Ignore: f.ignore, Bytes: f.identityBytes, Tunnels: f.tunnels},
			Window:   f.window, Memory: cli.Remembered(cmd.Flags(), "memory", f.Memory), Blocks: f.only != [2]string{},
		},
		Conversations: f.top, Workers: f.Workers,
	}
	cfg.Key, cfg.Seed = f.Keys()
	cfg.Input.Network = network
	s, err := run(cmd.Context(), &cfg)
	bar.Close()
	warnSides(e, &s)
	packets := s.A.Packets + s.B.Packets + s.Filtered
	result := s.Verdict != "" && !cli.NothingRead(packets, err)
	written := file.Write(result, func(of cli.Origin) *page.Page { return newPage(&s, of) })
	if result && !errors.Is(err, sink.ErrOutput) {
		written = errors.Join(f.print(e, &s), written)
	}
	err = errors.Join(cli.MarkDamage(err, packets, s.Damaged), written)
	if s.Verdict != "" && !s.Same && !s.Damaged { // what is missing from a damaged capture is no loss
		err = errors.Join(err, cli.ErrDifferent)
	}
	return err
}

const (
	// muchRepeated is the share of packets that may be repeated without a warning.
	muchRepeated = 0.05
	// farApart is an offset that no clock has that somebody has set.
	farApart = time.Minute
)

// warnSides warns of reasons to doubt the answer.
func warnSides(e *cli.Env, s *Summary) {
	if s.EvictedLive > 0 {
		e.Warn(fmt.Errorf("%d %s forgotten within the window, so packets of both may count as packets of one: use a larger --memory or a shorter --window", s.EvictedLive, show.Word(s.EvictedLive, "packet was", "packets were")))
	}
	if s.OffsetNS != nil && (*s.OffsetNS > int64(farApart) || *s.OffsetNS < -int64(farApart)) {
		e.Warn(fmt.Errorf("the clocks are %v apart: the offset was found by equal packets, and removed", time.Duration(*s.OffsetNS).Round(time.Second)))
	}
	for _, side := range []struct {
		name string
		*side
	}{{"A", &s.A}, {"B", &s.B}} {
		cli.WarnUnopened(e, "packets of "+side.name, side.Unopened, side.Packets)
		if side.Undecidable > 0 {
			e.Warn(fmt.Errorf("%d %s: packets match in order, so a loss may show at another one", side.Undecidable,
				fmt.Sprintf(show.Word(side.Undecidable, "packet of %s was truncated so short that it equals others of its flow",
					"packets of %s were truncated so short that they equal others of their flow"), side.name)))
		}
		if !s.Same && float64(side.Repeats) > float64(side.Undecidable)+muchRepeated*float64(side.Packets) {
			how := "flowdedup dedup -w OUT "
			if side.LAN != "" {
				how += "--within lan "
			}
			e.Warn(fmt.Errorf("%s has %d %s one before (%s): remove copies first, with %s%s",
				side.name, side.Repeats, show.Word(side.Repeats, "packet that equals", "packets that equal"), show.Percent(float64(side.Repeats), float64(side.Packets), 1), how, side.Input))
		}
	}
}

// print writes the summary to the stream that gets no packets.
func (f *flags) print(e *cli.Env, s *Summary) error {
	var w io.Writer = e.Stdout
	if outfile.IsStdout(f.only[0]) || outfile.IsStdout(f.only[1]) {
		w = e.Stderr
	}
	return f.Print(e, w, s, func(w io.Writer, columns int) error { return writeText(w, columns, s) })
}
