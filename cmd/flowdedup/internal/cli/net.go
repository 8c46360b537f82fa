// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/flowdedup/flowdedup/capture/afpacket"
	"github.com/flowdedup/flowdedup/capture/certs"
	"github.com/flowdedup/flowdedup/capture/mirror"
	"github.com/flowdedup/flowdedup/capture/outfile"
	"github.com/flowdedup/flowdedup/capture/pcapoverip"
	"github.com/flowdedup/flowdedup/capture/xdp"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/input"
)

// NetFlags are the flags of inputs and outputs on a network.
type NetFlags struct {
	cert, key, ca string
	mergeWait     time.Duration
}

// Flags returns the flags of TLS.
func (f *NetFlags) Flags() []Flag {
	return []Flag{
		{Name: "tls-cert", Group: GroupAdvanced, To: &f.cert, Needs: []string{"tls-key: they belong together"}, Help: "own certificate for tcp:// and tcp-listen://, a PEM `FILE`"},
		{Name: "tls-key", Group: GroupAdvanced, To: &f.key, Needs: []string{"tls-cert: they belong together"}, Help: "private key of --tls-cert, a PEM `FILE`"},
		{Name: "tls-ca", Group: GroupAdvanced, To: &f.ca, Help: "authorities that sign the peers' certificates, a PEM `FILE`"},
	}
}

// MergeFlag returns the flag of how inputs are merged.
func (f *NetFlags) MergeFlag() Flag {
	return Flag{Name: "merge-wait", Group: GroupInput, To: NewParsed(&f.mergeWait, "1s", "duration", ParseDelay), Not: []string{"no-merge: it reads inputs one after another"}, Help: "longest wait for a silent input (1s for tcp://; pipes: no limit)"}
}

// Check rejects invalid addresses, and flags without a meaning for these inputs and
// outputs. Empty outputs are ignored.
func (f *NetFlags) Check(inputs []string, rotates bool, outputs ...string) error {
	named := slices.DeleteFunc(slices.Concat(inputs, outputs), func(name string) bool { return !pcapoverip.IsAddress(name) })
	for _, name := range named {
		parse := pcapoverip.ParseAddress
		if slices.Contains(inputs, name) {
			parse = pcapoverip.ParseInput
		}
		if _, err := parse(name); err != nil {
			return Usage(err)
		}
	}
	switch {
	case rotates && slices.ContainsFunc(outputs, pcapoverip.IsAddress):
		return Usagef("--rotate-size and --rotate-every write files: not to tcp:// and tcp-listen://")
	case f.tls() && len(named) == 0:
		return Usagef("--tls-cert, --tls-key and --tls-ca need tcp:// or tcp-listen://")
	case f.tls() && f.cert == "" && slices.ContainsFunc(named, pcapoverip.Listens):
		return Usagef("TLS at tcp-listen:// needs --tls-cert and --tls-key")
	}
	return nil
}

func (f *NetFlags) tls() bool { return f.cert != "" || f.key != "" || f.ca != "" }

// CheckMerge rejects flags about the order of inputs that do not fit them.
func (f *NetFlags) CheckMerge(fs *pflag.FlagSet, inputs []string) error {
	if fs.Changed("no-merge") && slices.ContainsFunc(inputs, pcapoverip.IsAddress) {
		return Usagef("--no-merge reads inputs one after another: not tcp:// and tcp-listen://")
	}
	return nil
}

// Network returns how to read and write on a network. log gets what becomes of certificates that
// are renewed.
func (f *NetFlags) Network(cmd *cobra.Command, log *slog.Logger) (input.Network, error) {
	n := &input.Network{MergeWait: f.mergeWait, WaitForPipes: cmd.Flags().Changed("merge-wait")}
	if err := outfile.Until(cmd.Context(), func() (err error) {
		n.TLS, err = certs.Load(f.cert, f.key, f.ca)
		return err
	}); err != nil {
		return input.Network{}, err
	}
	if n.TLS != nil {
		n.TLS.Warn, n.TLS.Log = func(err error) { log.Warn(err.Error()) }, func(text string) { log.Info(text) }
	}
	return *n, nil
}

// Sources are the values of -i, by kind.
type Sources struct {
	Interfaces []string
	Addresses  []pcapoverip.Address
	Targets    []mirror.Target
}

// Network reports whether packets come over a network, at least some.
func (s *Sources) Network() bool { return len(s.Addresses)+len(s.Targets) > 0 }

// Names returns the addresses.
func (s *Sources) Names() (all []string) {
	for _, a := range s.Addresses {
		all = append(all, a.String())
	}
	return all
}

// ParseSources sorts names into interfaces, addresses and targets.
func ParseSources(names []string) (s Sources, err error) {
	for i, name := range names {
		switch {
		case !strings.Contains(name, "://"): // no interface's name has a slash
			s.Interfaces = append(s.Interfaces, name)
		case slices.Contains(names[:i], name):
			return s, Usagef("-i %s is named twice", name)
		case mirror.IsTarget(name):
			target, err := mirror.ParseTarget(name)
			if err != nil {
				return s, Usagef("-i %w", err)
			}
			s.Targets = append(s.Targets, target)
		case pcapoverip.IsAddress(name):
			addr, err := pcapoverip.ParseInput(name)
			if err != nil {
				return s, Usagef("-i %w", err)
			}
			s.Addresses = append(s.Addresses, addr)
		default:
			return s, Usagef("-i %s: name an interface, tcp://HOST:PORT, tcp-listen://:PORT, vxlan://:4789, geneve://:6081, tzsp://:37008 or erspan://", name)
		}
	}
	return s, nil
}

// Flags for interfaces only, and flags for interfaces and targets.
var (
	interfaceFlags = []string{
		"capture", "take-interface", "fanout", "promiscuous", "no-promiscuous-mode", "ignore-outgoing", "hardware-time", "wait",
	}
	targetFlags = []string{"rings", "ring-size", "buffer-size", "snaplen", "block-timeout"}
)

// Check rejects flags that have no meaning for these sources.
func (s *Sources) Check(fs *pflag.FlagSet) error {
	for _, name := range slices.Concat(interfaceFlags, targetFlags) {
		if fs.Changed(name) && len(s.Interfaces) == 0 && (len(s.Targets) == 0 || slices.Contains(interfaceFlags, name)) {
			return Usagef("--%s needs an interface, and no -i names one", name)
		}
	}
	if fs.Changed("merge-wait") && len(s.Addresses) == 0 && (len(s.Targets) == 0 || len(s.Interfaces) == 0) {
		return Usagef("--merge-wait needs -i tcp:// or tcp-listen://, or interfaces and mirror targets together")
	}
	return nil
}

// Mirror returns how to receive from the targets, as the flags of rings say.
func (s *Sources) Mirror(c *afpacket.Config) mirror.Config {
	return mirror.Config{Targets: s.Targets, Sockets: c.Rings, BufferBytes: c.RingBytes, SnapLen: c.SnapLen}
}

// NameInterfaces adds advice to errors about interfaces.
func NameInterfaces(err error) error {
	switch {
	case errors.Is(err, afpacket.ErrNoInterface):
		return fmt.Errorf("%w; available: %s", err, InterfaceNames())
	case errors.Is(err, xdp.ErrInUse):
		return Usagef("%w: use --capture afpacket, or --take-interface", err)
	case errors.Is(err, xdp.ErrUnfit):
		return Usagef("%w: use --capture afpacket", err)
	}
	return err
}

// InterfaceNames returns what can be captured from on this machine.
func InterfaceNames() string {
	return strings.Join(append(interfaceNames(), afpacket.Any), ", ")
}

// interfaceNames returns no names where the system does not list them.
func interfaceNames() (names []string) {
	all, _ := net.Interfaces()
	for i := range all {
		names = append(names, all[i].Name)
	}
	return names
}

// CompleteInterfaces lets the shell complete interfaces to send to.
func CompleteInterfaces(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return interfaceNames(), cobra.ShellCompDirectiveNoFileComp
}

// CompleteTargets lets the shell complete interfaces and mirror targets.
func CompleteTargets(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	all, directive := CompleteInterfaces(cmd, args, typed)
	return append(all, afpacket.Any, "vxlan://:4789", "geneve://:6081", "tzsp://:37008", "erspan://"), directive
}

// CompleteSources lets the shell complete values of -i.
func CompleteSources(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	all, directive := CompleteTargets(cmd, args, typed)
	return append(all, "tcp://", "tcp-listen://:57012"), directive
}
