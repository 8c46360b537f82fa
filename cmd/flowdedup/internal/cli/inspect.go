package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	measure "github.com/flowdedup/flowdedup/capture/inspect"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/inspect"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/report"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
)

// inspectFlags are the flags of "flowdedup inspect".
type inspectFlags struct {
	Common
	named InputFlags
	RingFlags
	net    NetFlags
	source Sources
	window time.Duration
	length time.Duration
	reader Reader
	page   PageFlag
}

func NewInspect(e *Env) *cobra.Command {
	f := &inspectFlags{}
	cmd := &cobra.Command{
		Use:   "inspect [flags] INPUT... | -i IFACE",
		Short: "Say whether and how captures are duplicated, and what to run",
		Long: `Say how many packets of captures or of live traffic are copies, between which
points and how late they come, in what they differ, and which equal packets
are no copies. Recommend how to de-duplicate, with a command to run, or not to.

Packets are compared as widely as makes sense: by the innermost IP header, as
--identity inner does, without checksums that were left to a network card.
Once a packet was captured in part, the first 64 bytes are compared, too. The
recommendation takes the narrowest identity that finds the same copies.

A point is an interface with the VLAN tags and tunnels (VXLAN, GENEVE, GRE,
ERSPAN) of a packet. The matrix counts the copies first seen at one point and
then at another; delays are off by 1 % at most.

An equal packet that differs in nothing, at the same point, may have been sent
again. It counts as a copy if it comes within 1 ms and its sender numbers its
packets (IPv4), or if so many come again that no sender repeats as many.

Nothing is written or removed. One pass, in constant memory.`,
		Example: `  # is this capture duplicated, and how?
  flowdedup inspect span.pcapng

  # what to run for Suricata, which reads what is kept
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

  # run what is recommended
  flowdedup inspect --json span.pcapng | jq -r .recommendation.command | sh`,
		Args: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("interface") && len(f.named.All(args)) == 0 {
				return nil
			}
			return f.named.Check(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, e, f.named.All(args)) },
	}
	f.register(cmd)
	return cmd
}

func (f *inspectFlags) register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.SortFlags = false
	f.named.Register(fs)
	f.RegisterInterfaces(fs)
	fs.Lookup("interface").Usage = "capture from `IFACE`, any, or a mirror target; may be repeated"
	f.length = time.Minute
	fs.Var(NewParsed(&f.length, "1m", "duration", ParseLength), "duration", "how long to capture from -i: 30s, 10m")
	fs.Var(NewParsed(&f.reader, "", "reader", f.parseFor), "for", "recommend for this reader: "+strings.Join(ReaderNames(), ", ")+"; a duration is that of --duration")
	GroupInput.Add(fs, "duration")
	GroupKeep.Add(fs, "for")
	f.Common.Filter.Register(fs)
	f.RingFlags.Register(fs)
	fs.BoolVar(&f.NoMerge, "no-merge", false, "read inputs one after another, not in time order")
	GroupInput.Add(fs, "no-merge")
	f.net.Register(fs)
	f.net.RegisterMerge(fs)
	f.window = measure.DefaultWindow
	fs.Var(NewParsed(&f.window, "1s", "duration", ParseLength), "window", "look at equal packets within this time")
	GroupCompare.Add(fs, "window")
	f.page.Register(fs, "with the matrix and delays")
	f.RegisterRun(fs)
	f.Memory = measure.DefaultMemory
	fs.Var(NewParsed(&f.Memory, show.Bytes(measure.DefaultMemory), "size", ParseMemory), "memory", "memory for packets: 64MiB")
	fs.BoolVar(&f.NoProgress, "no-progress", false, "show no progress on a terminal")
	GroupAdvanced.Add(fs, "memory", "no-progress")
	CompleteWords(cmd, map[string][]string{
		"filter": FilterWords, "window": {"1s", "10s", "100ms"}, "duration": {"10s", "1m", "10m"}, "for": ReaderNames(), "memory": {"64MiB", "256MiB", "1GiB"},
		"fanout": Fanouts,
	})
	if err := cmd.RegisterFlagCompletionFunc("interface", CompleteTargets); err != nil {
		panic("cli: " + err.Error()) // a flag that was never defined
	}
}

// liveFlagNames are the flags that mean something with -i alone.
var liveFlagNames = []string{"duration", "snaplen", "promiscuous", "ignore-outgoing", "wait", "ring-size", "rings", "fanout", "block-timeout", "hardware-time"}

func (f *inspectFlags) check(fs *pflag.FlagSet, inputs []string) error {
	live := len(f.Conf.Interfaces) > 0
	if !live && f.forLength(fs) {
		return &usageError{errors.New("--for with a duration needs an interface: -i")}
	}
	if live && len(inputs) > 0 {
		return &usageError{errors.New("-i and captures exclude each other")}
	}
	if live && f.NoMerge {
		return &usageError{errors.New("--no-merge is for captures")}
	}
	for _, name := range liveFlagNames {
		if !live && fs.Changed(name) {
			return &usageError{fmt.Errorf("--%s needs an interface: -i", name)}
		}
	}
	if err := f.checkSources(fs); err != nil {
		return err
	}
	named := Files{Outputs: []NamedFile{f.page.Named()}, Inputs: append(f.Filter.Files(), inputs...)}
	return errors.Join(CheckNamed(fs), f.RingFlags.Check(), f.page.Check(&f.Common), named.Check(), f.net.Check(inputs, false), f.net.CheckMerge(fs, inputs))
}

// checkSources sorts the values of -i, and rejects what has no meaning for them.
func (f *inspectFlags) checkSources(fs *pflag.FlagSet) (err error) {
	if f.source, err = ParseSources(f.Conf.Interfaces); err != nil || len(f.Conf.Interfaces) == 0 {
		return err
	}
	switch {
	case len(f.source.Addresses) > 0:
		return &usageError{fmt.Errorf("-i %s is no interface: name tcp:// and tcp-listen:// as inputs, without -i", f.source.Addresses[0])}
	case len(f.source.Interfaces) > 0 && len(f.source.Targets) > 0:
		return &usageError{errors.New("-i takes interfaces or mirror targets, not both at a time: inspect one after the other")}
	}
	return f.source.Check(fs)
}

func (f *inspectFlags) run(cmd *cobra.Command, e *Env, inputs []string) error {
	if err := f.check(cmd.Flags(), inputs); err != nil {
		return err
	}
	if err := f.Finish(cmd.Flags()); err != nil {
		return err
	}
	network, err := f.net.Network(cmd.Flags())
	if err != nil {
		return err
	}
	e.Quiet = f.Quiet
	bar := NewProgress(e, &f.Common)
	defer bar.Close()
	cfg := inspect.Config{
		Inputs: inputs, Input: f.Inputs(e, bar), Duration: f.length, Window: f.window, Memory: Remembered(cmd.Flags(), f.Memory),
		Secret: f.Secret, Workers: f.Workers, Flags: f.repeated(cmd.Flags()), Profile: f.reader.recommended(),
	}
	cfg.Input.Network = network
	if len(inputs) == 0 {
		cfg.Ring = f.RingConfig(cmd, false)
		cfg.Ring.Interfaces, cfg.Mirror = f.source.Interfaces, f.source.Mirror(&cfg.Ring)
		if len(f.source.Targets) == 0 { // else the filter is applied to what comes
			cfg.Ring.Filters, err = f.Filter.Programs(cmd.Context(), &f.Conf)
		}
		if err != nil {
			return NameInterfaces(err)
		}
	}
	page, err := f.page.Open(cmd.Context())
	if err != nil {
		return err
	}
	s, err := inspect.Run(cmd.Context(), &cfg)
	bar.Close()
	if s.EvictedLive > 0 {
		e.Warn(fmt.Errorf("%d packets were forgotten within the window, so copies may have been missed: use a larger --memory or a shorter --window", s.EvictedLive))
	}
	return errors.Join(MarkDamage(NameInterfaces(err), s.Packets+s.Filtered, s.Damaged), f.print(e, &s, err), f.write(page, &s, err))
}

// write writes the page, unless nothing could be read.
func (f *inspectFlags) write(page PageFile, s *inspect.Summary, err error) error {
	if nothingInspected(s, err) {
		return page.Discard()
	}
	return page.Write(func(w io.Writer) error { return report.InspectPage(w, s) })
}

func nothingInspected(s *inspect.Summary, err error) bool {
	return s.Verdict == "" || s.Packets+s.Filtered == 0 && err != nil && !errors.Is(err, context.Canceled)
}

// repeated returns the flags that the recommended command needs, too.
func (f *inspectFlags) repeated(fs *pflag.FlagSet) (words []string) {
	fs.Visit(func(g *pflag.Flag) {
		switch g.Name {
		case "filter", "bpf-file", "snaplen", "merge-wait", "tls-cert", "tls-key", "tls-ca":
			words = append(words, "--"+g.Name, g.Value.String())
		case "no-merge", "ignore-outgoing", "wait", "promiscuous", "hardware-time":
			words = append(words, "--"+g.Name+"="+g.Value.String())
		}
	})
	return words
}

func (f *inspectFlags) print(e *Env, s *inspect.Summary, err error) error {
	switch {
	case nothingInspected(s, err):
		return nil
	case f.JSON:
		return report.InspectJSON(e.Stdout, s)
	case f.Quiet:
		return nil
	}
	return report.InspectText(e.Stdout, s)
}
