// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	xbpf "golang.org/x/net/bpf"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/afpacket"
	"github.com/flowdedup/flowdedup/capture/bpf"
	"github.com/flowdedup/flowdedup/capture/outfile"
)

// filterFlags define which packets are wanted.
type filterFlags struct {
	file   string
	Wanted bpf.Filter // complete after Load
}

// FilterWords are the words of pcap-filter(7) that an expression can begin with.
var FilterWords = []string{
	"arp", "broadcast", "decnet", "dst", "ether", "gateway", "geneve", "greater", "host", "icmp", "icmp6", "igmp", "inbound",
	"ip", "ip6", "less", "link", "mpls", "multicast", "net", "not", "outbound", "port", "portrange", "ppp", "pppoed", "pppoes",
	"proto", "rarp", "sctp", "src", "tcp", "udp", "vlan", "vxlan", "wlan",
}

// Flags returns the flags, with the rules of what they need.
func (f *filterFlags) Flags(needs ...string) []Flag {
	return []Flag{
		{Name: "filter", Group: GroupInput, To: &f.Wanted.Expr, Words: FilterWords, Needs: needs, Not: []string{"bpf-file"}, Help: "take only packets that match `EXPR`: 'tcp port 443'"},
		{Name: "bpf-file", Group: GroupInput, To: &f.file, Needs: needs, Help: "filter by the tcpdump -ddd program in `FILE`"},
	}
}

// Files returns the program file of --bpf-file, if given.
func (f *filterFlags) Files() []string {
	if f.file == "" {
		return nil
	}
	return []string{f.file}
}

// TakeExpression sets --filter from the arguments of live, as tcpdump does.
func (f *filterFlags) TakeExpression(cmd *cobra.Command, args []string) error {
	expression := strings.TrimSpace(strings.Join(args, " "))
	switch {
	case expression == "":
		return nil
	case cmd.Flags().Changed("filter") || f.file != "":
		return Usagef("an expression as arguments excludes --filter and --bpf-file")
	}
	return cmd.Flags().Set("filter", expression)
}

// Load reads the program file, until ctx is done.
func (f *filterFlags) Load(ctx context.Context) error {
	if f.file == "" {
		return nil
	}
	err := outfile.Until(ctx, func() error {
		file, err := os.Open(f.file)
		if err != nil {
			return err
		}
		defer file.Close()
		f.Wanted.Program, err = bpf.Parse(file)
		return err
	})
	if errors.Is(err, bpf.ErrProgram) {
		return Usagef("--bpf-file %s: %w", f.file, err)
	}
	if err != nil {
		return fmt.Errorf("--bpf-file: %w", err)
	}
	return nil
}

// Programs returns the kernel's program for each link type of the interfaces, nil for all
// packets.
func (f *filterFlags) Programs(ctx context.Context, c *afpacket.Config) (map[capture.LinkType][]xbpf.RawInstruction, error) {
	if f.Wanted.All() {
		return nil, nil
	}
	all := map[capture.LinkType][]xbpf.RawInstruction{}
	for _, name := range c.Interfaces {
		link, err := afpacket.LinkTypeOf(name, c.Wait)
		if err != nil {
			return nil, err
		}
		if _, known := all[link]; known {
			continue
		}
		if len(all) > 0 && f.file != "" {
			return nil, Usagef("--bpf-file is a program for one link type, but %s has %v and %s another: use --filter",
				name, link, c.Interfaces[0])
		}
		if all[link], err = f.program(ctx, link, c.SnapLen, name); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// ForFrames returns the program for Ethernet frames as they are in files, nil for all.
func (f *filterFlags) ForFrames(ctx context.Context) ([]xbpf.RawInstruction, error) {
	if f.Wanted.All() {
		return nil, nil
	}
	p, err := f.Wanted.For(ctx, capture.LinkEthernet, afpacket.MaxSnapLen, "")
	if errors.Is(err, bpf.ErrExpression) {
		return nil, Usagef("--filter: %w", err)
	}
	return p, err
}

// program returns the program for the link type of an interface. A snapLen of 0 is
// unlimited.
func (f *filterFlags) program(ctx context.Context, link capture.LinkType, snapLen int, iface string) ([]xbpf.RawInstruction, error) {
	if snapLen == 0 {
		snapLen = afpacket.MaxSnapLen
	}
	p, err := f.Wanted.For(ctx, link, snapLen, iface)
	if err == nil {
		return p, nil
	}
	err = fmt.Errorf("--filter for %s (%v): %w", iface, link, err)
	if errors.Is(err, bpf.ErrExpression) {
		return nil, Usage(err)
	}
	return nil, err
}

// looksLikeExpression reports whether a text begins like a filter expression.
func looksLikeExpression(text string) bool {
	word := strings.TrimLeft(text, "!( ")
	if at := strings.IndexAny(word, " [()&|=!<>"); at >= 0 {
		word = word[:at]
	}
	return slices.Contains(FilterWords, word)
}

// CheckExpression rejects inputs that are no files but a filter expression, which other
// programs accept there.
func CheckExpression(args []string) error {
	missing := func(name string) bool {
		_, err := os.Stat(name)
		return name != "-" && err != nil
	}
	from := slices.IndexFunc(args, func(a string) bool { return looksLikeExpression(a) && missing(a) })
	if from < 0 {
		return nil
	}
	to := from + 1
	for to < len(args) && missing(args[to]) {
		to++
	}
	return Usagef("there is no file %s; did you mean --filter '%s'?", args[from], strings.Join(args[from:to], " "))
}
