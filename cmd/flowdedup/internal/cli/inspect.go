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
	common
	named inputFlags
	ringFlags
	net    netFlags
	source sources
	window time.Duration
	length time.Duration
	reader reader
	page   pageFlag
}

func newInspect(e *env) *cobra.Command {
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
			if cmd.Flags().Changed("interface") && len(f.named.all(args)) == 0 {
				return nil
			}
			return f.named.check(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, e, f.named.all(args)) },
	}
	f.register(cmd)
	return cmd
}

func (f *inspectFlags) register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.SortFlags = false
	f.named.register(fs)
	f.registerInterfaces(fs)
	fs.Lookup("interface").Usage = "capture from `IFACE`, any, or a mirror target; may be repeated"
	f.length = time.Minute
	fs.Var(newParsed(&f.length, "1m", "duration", parseLength), "duration", "how long to capture from -i: 30s, 10m")
	fs.Var(newParsed(&f.reader, "", "reader", f.parseFor), "for", "recommend for this reader: "+strings.Join(readerNames(), ", ")+"; a duration is that of --duration")
	groupInput.add(fs, "duration")
	groupKeep.add(fs, "for")
	f.common.filter.register(fs)
	f.ringFlags.register(fs)
	fs.BoolVar(&f.noMerge, "no-merge", false, "read inputs one after another, not in time order")
	groupInput.add(fs, "no-merge")
	f.net.register(fs)
	f.net.registerMerge(fs)
	f.window = measure.DefaultWindow
	fs.Var(newParsed(&f.window, "1s", "duration", parseLength), "window", "look at equal packets within this time")
	groupCompare.add(fs, "window")
	f.page.register(fs, "with the matrix and delays")
	f.registerRun(fs)
	f.memory = measure.DefaultMemory
	fs.Var(newParsed(&f.memory, show.Bytes(measure.DefaultMemory), "size", parseMemory), "memory", "memory for packets: 64MiB")
	fs.BoolVar(&f.noProgress, "no-progress", false, "show no progress on a terminal")
	groupAdvanced.add(fs, "memory", "no-progress")
	completeWords(cmd, map[string][]string{
		"filter": filterWords, "window": {"1s", "10s", "100ms"}, "duration": {"10s", "1m", "10m"}, "for": readerNames(), "memory": {"64MiB", "256MiB", "1GiB"},
		"fanout": fanouts,
	})
	if err := cmd.RegisterFlagCompletionFunc("interface", completeTargets); err != nil {
		panic("cli: " + err.Error()) // a flag that was never defined
	}
}

// liveFlagNames are the flags that mean something with -i alone.
var liveFlagNames = []string{"duration", "snaplen", "promiscuous", "ignore-outgoing", "wait", "ring-size", "rings", "fanout", "block-timeout", "hardware-time"}

func (f *inspectFlags) check(fs *pflag.FlagSet, inputs []string) error {
	live := len(f.conf.Interfaces) > 0
	if !live && f.forLength(fs) {
		return &usageError{errors.New("--for with a duration needs an interface: -i")}
	}
	if live && len(inputs) > 0 {
		return &usageError{errors.New("-i and captures exclude each other")}
	}
	if live && f.noMerge {
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
	named := files{outputs: []namedFile{f.page.named()}, inputs: append(f.filter.files(), inputs...)}
	return errors.Join(checkNamed(fs), f.ringFlags.check(), f.page.check(&f.common), named.check(), f.net.check(inputs, false), f.net.checkMerge(fs, inputs))
}

// checkSources sorts the values of -i, and rejects what has no meaning for them.
func (f *inspectFlags) checkSources(fs *pflag.FlagSet) (err error) {
	if f.source, err = parseSources(f.conf.Interfaces); err != nil || len(f.conf.Interfaces) == 0 {
		return err
	}
	switch {
	case len(f.source.addresses) > 0:
		return &usageError{fmt.Errorf("-i %s is no interface: name tcp:// and tcp-listen:// as inputs, without -i", f.source.addresses[0])}
	case len(f.source.interfaces) > 0 && len(f.source.targets) > 0:
		return &usageError{errors.New("-i takes interfaces or mirror targets, not both at a time: inspect one after the other")}
	}
	return f.source.check(fs)
}

func (f *inspectFlags) run(cmd *cobra.Command, e *env, inputs []string) error {
	if err := f.check(cmd.Flags(), inputs); err != nil {
		return err
	}
	if err := f.finish(cmd.Flags()); err != nil {
		return err
	}
	network, err := f.net.network(cmd.Flags())
	if err != nil {
		return err
	}
	e.quiet = f.quiet
	bar := newProgress(e, &f.common)
	defer bar.close()
	cfg := inspect.Config{
		Inputs: inputs, Input: f.inputs(e, bar), Duration: f.length, Window: f.window, Memory: remembered(cmd.Flags(), "memory", f.memory),
		Secret: f.secret, Workers: f.workers, Flags: f.repeated(cmd.Flags()), Profile: f.reader.recommended(),
	}
	cfg.Input.Network = network
	if len(inputs) == 0 {
		cfg.Ring = f.ringConfig(cmd, false)
		cfg.Ring.Interfaces, cfg.Mirror = f.source.interfaces, f.source.mirror(&cfg.Ring)
		if len(f.source.targets) == 0 { // else the filter is applied to what comes
			cfg.Ring.Filters, err = f.filter.programs(cmd.Context(), &f.conf)
		}
		if err != nil {
			return named(err)
		}
	}
	page, err := f.page.open(cmd.Context())
	if err != nil {
		return err
	}
	s, err := inspect.Run(cmd.Context(), &cfg)
	bar.close()
	if s.EvictedLive > 0 {
		e.warn(fmt.Errorf("%d packets were forgotten within the window, so copies may have been missed: use a larger --memory or a shorter --window", s.EvictedLive))
	}
	return errors.Join(markDamage(named(err), s.Packets+s.Filtered, s.Damaged), f.print(e, &s, err), f.write(page, &s, err))
}

// write writes the page, unless nothing could be read.
func (f *inspectFlags) write(page pageFile, s *inspect.Summary, err error) error {
	if nothingInspected(s, err) {
		return page.discard()
	}
	return page.write(func(w io.Writer) error { return report.InspectPage(w, s) })
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

func (f *inspectFlags) print(e *env, s *inspect.Summary, err error) error {
	switch {
	case nothingInspected(s, err):
		return nil
	case f.json:
		return report.InspectJSON(e.stdout, s)
	case f.quiet:
		return nil
	}
	return report.InspectText(e.stdout, s)
}

// parseLength reads a duration that is not 0.
func parseLength(s string) (time.Duration, error) {
	d, err := parseDuration(s)
	if err != nil || d <= 0 {
		return 0, errors.New("must be a duration such as 100ms, 30s or 10m")
	}
	return d, nil
}
