// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/analysis/inspect"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/page"
)

// flags are the flags of "flowdedup inspect".
type flags struct {
	cli.Common
	named cli.InputFlags
	cli.RingFlags
	net     cli.NetFlags
	source  cli.Sources
	tunnels *headers.Tunnels
	window  time.Duration
	length  time.Duration
	reader  cli.Reader
	page    cli.PageFlag
}

// Command returns "flowdedup inspect".
func Command(e *cli.Env) *cobra.Command {
	f := &flags{}
	cmd := &cobra.Command{
		Use:   "inspect [flags] INPUT... | -i IFACE",
		Short: "Report whether and how captures are duplicated, and what to run",
		Long: `Report how many packets of captures or of live traffic are copies, between
which points, with which delays and differences, and which equal packets are no
copies. Recommend a command to de-duplicate, or advise against it.

Packets are compared as widely as makes sense: by the innermost IP header, as
--identity inner does, without checksums that a network card fills in. Once a
packet was truncated, the first 64 bytes are compared, too. The recommendation
takes the narrowest identity that finds the same copies.

A point is an interface with the VLAN tags and tunnels (VXLAN, GENEVE, GRE,
ERSPAN) of a packet. The matrix counts the copies first seen at one point and
then at another; delays are off by 1 % at most.

An equal packet that differs in nothing, at the same point, may have been sent
again. It counts as a copy if it comes within 1 ms and its sender numbers its
packets (IPv4), or if the rate of repeats is too high to be retransmission.

Nothing is written or removed. One pass, in constant memory.`,
		Example: `  # is this capture duplicated, and how?
  flowdedup inspect span.pcapng

  # what to run for Suricata, which reads the kept packets
  flowdedup inspect span.pcapng --for suricata

  # the same as a page, to show to others
  flowdedup inspect span.pcapng --html span.html

  # both sides of a router
  flowdedup inspect inside.pcap outside.pcap

  # what two sensors send until they end
  flowdedup inspect tcp://tap1:57012 tcp://tap2:57012

  # a minute of live traffic
  flowdedup inspect -i eth1 --duration 1m

  # what a cloud mirrors here
  flowdedup inspect -i vxlan://:4789 --duration 1m

  # run the recommended command
  flowdedup inspect --json span.pcapng | jq -r .recommendation.command | sh`,
		Args: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("interface") && len(f.named.Named(args)) == 0 {
				return nil
			}
			return f.named.Check(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, e, args) },
	}
	f.register(cmd)
	return cmd
}

func (f *flags) register(cmd *cobra.Command) {
	cli.Define(cmd,
		[]cli.Flag{f.named.Flag()},
		f.InterfaceFlags("or a mirror target", cli.CompleteTargets),
		[]cli.Flag{
			{Name: "duration", Group: cli.GroupInput, To: cli.NewParsed(&f.length, "1m", "duration", cli.ParseLength), Words: []string{"10s", "1m", "10m"}, Needs: []string{"interface"}, Help: "how long to capture from -i: 30s, 10m"},
			{Name: "for", Group: cli.GroupKeep, To: cli.NewParsed(&f.reader, "", "reader", f.parseFor), Words: cli.ReaderNames(), Help: "recommend for this reader: " + strings.Join(cli.ReaderNames(), ", ") + "; a duration sets --duration"},
		},
		f.Filter.Flags(),
		f.Part.Flags(),
		f.RingFlags.Flags(),
		[]cli.Flag{f.MergeFlag()},
		f.net.Flags(),
		[]cli.Flag{
			f.net.MergeFlag(),
			cli.TunnelFlag(&f.tunnels),
			{Name: "window", Group: cli.GroupCompare, To: cli.NewParsed(&f.window, inspect.DefaultWindow.String(), "duration", cli.ParseLength), Words: []string{"1s", "10s", "100ms"}, Help: "compare packets within this time"},
			f.Part.ZoneFlag(),
			f.page.Flag("with the matrix and delays"),
		},
		f.RunFlags(),
		[]cli.Flag{
			{Name: "memory", Group: cli.GroupAdvanced, To: cli.NewParsed(&f.Memory, show.Bytes(inspect.DefaultMemory), "size", cli.ParseMemory), Words: []string{"64MiB", "256MiB", "1GiB"}, Help: "memory for packets: 64MiB"},
			f.ProgressFlag(),
		},
	)
}

// parseFor reads the value of --for of inspect: a reader, or a duration as --duration takes.
func (f *flags) parseFor(s string) (cli.Reader, error) {
	if length, err := cli.ParseLength(s); err == nil {
		f.length = length
		return f.reader, nil
	}
	r, err := cli.ParseReader(s)
	if err != nil {
		err = fmt.Errorf("%w; or a duration such as 30s", err)
	}
	return r, err
}

// forLength reports whether --for gave a duration.
func (f *flags) forLength(fs *pflag.FlagSet) bool {
	return fs.Changed("for") && f.reader.Name == ""
}

func (f *flags) check(fs *pflag.FlagSet, inputs []string) error {
	if err := errors.Join(cli.CheckFlags(fs), f.Part.Check()); err != nil {
		return err
	}
	live := len(f.Conf.Interfaces) > 0
	if !live && f.forLength(fs) {
		return cli.Usagef("--for with a duration needs an interface: -i")
	}
	if live && len(inputs) > 0 {
		return cli.Usagef("-i and captures exclude each other")
	}
	if f.XDP() != nil {
		return cli.Usagef("--capture xdp is not for inspect, which only looks at packets: AF_PACKET leaves them to the host")
	}
	if err := f.checkSources(fs); err != nil {
		return err
	}
	named := cli.Files{Outputs: []cli.NamedFile{f.page.Named()}, Inputs: append(f.Filter.Files(), inputs...)}
	return errors.Join(f.RingFlags.Check(), f.page.Check(&f.Common), named.Check(), f.net.Check(inputs, false), f.net.CheckMerge(fs, inputs))
}

// checkSources sorts the values of -i, and rejects values without a meaning for them.
func (f *flags) checkSources(fs *pflag.FlagSet) (err error) {
	if f.source, err = cli.ParseSources(f.Conf.Interfaces); err != nil || len(f.Conf.Interfaces) == 0 {
		return err
	}
	switch {
	case len(f.source.Addresses) > 0:
		return cli.Usagef("-i %s is no interface: name tcp:// and tcp-listen:// as inputs, without -i", f.source.Addresses[0])
	case len(f.source.Interfaces) > 0 && len(f.source.Targets) > 0:
		return cli.Usagef("-i takes interfaces or mirror targets, not both at a time: inspect one after the other")
	}
	return f.source.Check(fs)
}

func (f *flags) run(cmd *cobra.Command, e *cli.Env, args []string) error {
	inputs := f.named.All(args)
	if err := f.check(cmd.Flags(), inputs); err != nil {
		return err
	}
	if err := f.Finish(cmd); err != nil {
		return err
	}
	network, err := f.net.Network(cmd, e.Logger())
	if err != nil {
		return err
	}
	e.Quiet.Store(f.Quiet)
	f.named.WarnPassed(e)
	bar := cli.NewProgress(e, &f.Common)
	defer bar.Close()
	cfg := config{
		Inputs: inputs, Named: f.named.Named(args), Input: f.Inputs(e, bar), Duration: f.length,
		Config:  inspect.Config{Window: f.window, Tunnels: f.tunnels, Memory: cli.Remembered(cmd.Flags(), "memory", f.Memory)},
		Workers: f.Workers, Flags: f.repeated(cmd.Flags()), Profile: profileOf(&f.reader),
	}
	cfg.Key, cfg.Seed = f.Keys()
	cfg.Input.Network = network
	if len(inputs) == 0 {
		cfg.Ring = f.RingConfig(cmd, false)
		cfg.Ring.Interfaces, cfg.Mirror = f.source.Interfaces, f.source.Mirror(&cfg.Ring)
		if len(f.source.Targets) == 0 { // else the filter is applied to arriving packets
			cfg.Ring.Filters, err = f.Filter.Programs(cmd.Context(), &f.Conf)
		}
		if err != nil {
			return cli.NameInterfaces(err)
		}
	}
	file, err := f.page.Open(cmd, append(slices.Clone(inputs), f.source.Interfaces...))
	if err != nil {
		return err
	}
	s, err := run(cmd.Context(), &cfg)
	bar.Close()
	if s.EvictedLive > 0 {
		e.Warn(fmt.Errorf("%d %s forgotten within the window, so copies may have been missed: use a larger --memory or a shorter --window", s.EvictedLive, show.Word(s.EvictedLive, "packet was", "packets were")))
	}
	result := s.Verdict != "" && !cli.NothingRead(s.Packets+s.Filtered, err)
	err = errors.Join(cli.MarkDamage(cli.NameInterfaces(err), s.Packets+s.Filtered, s.Damaged), file.Write(result, func(of cli.Origin) *page.Page { return newPage(&s, of) }))
	if !result {
		return err
	}
	return errors.Join(err, f.Print(e, e.Stdout, &s, func(w io.Writer, columns int) error { return writeText(w, columns, &s) }))
}

// repeated returns the flags that the recommended command needs, too.
func (f *flags) repeated(fs *pflag.FlagSet) (words []string) {
	fs.Visit(func(g *pflag.Flag) {
		switch g.Name {
		case "filter", "bpf-file", "from", "to", "count", "tz", "snaplen", "merge-wait", "tls-cert", "tls-key", "tls-ca":
			words = append(words, "--"+g.Name, g.Value.String())
		case "no-merge", "ignore-outgoing", "wait", "promiscuous", "hardware-time":
			words = append(words, "--"+g.Name+"="+g.Value.String())
		}
	})
	return words
}
