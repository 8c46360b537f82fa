// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/flowdedup/flowdedup/capture/identity"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
)

// command returns the recommended command line.
func command(cfg *config, r *recommendation) string {
	words := []string{"flowdedup", "dedup"}
	if len(cfg.Inputs) == 0 {
		words[1] = "live"
		for _, name := range cfg.Ring.Interfaces {
			words = append(words, "-i", name)
		}
		for _, target := range cfg.Mirror.Targets {
			words = append(words, "-i", target.String())
		}
	}
	words = append(words, "--identity", r.Identity, "--window", r.Window)
	if r.IdentityBytes > 0 {
		words = append(words, "--identity-bytes", strconv.Itoa(r.IdentityBytes))
	}
	if ignore := besides(r.Ignore, cfg.Profile.Ignore); len(ignore) > 0 {
		words = append(words, "--ignore", strings.Join(ignore, ","))
	}
	if r.Across {
		words = append(words, "--across")
	}
	if r.For != "" {
		words = append(words, "--for", r.For)
	}
	if strip := besides(r.Strip, cfg.Profile.Strip); len(strip) > 0 {
		words = append(words, "--strip", strings.Join(strip, ","))
	}
	if r.Prefer != "" {
		words = append(words, "--prefer", r.Prefer)
	}
	if ports := cfg.Tunnels.String(); ports != "" && (r.Identity == identity.Inner.String() || slices.Contains(r.Strip, "tunnel")) {
		words = append(words, "--tunnel", ports)
	}
	words = append(words, cfg.Flags...)
	words = append(words, "-w", output(cfg.Inputs))
	for _, name := range cfg.Inputs {
		if strings.HasPrefix(name, "-") && name != "-" {
			words = append(words, "-r")
		}
		words = append(words, name)
	}
	for i, word := range words {
		words[i] = show.Quote(word)
	}
	return strings.Join(words, " ")
}

// output returns a name for the output that no input has.
func output(inputs []string) string {
	name := "clean.pcapng"
	for i := 2; slices.ContainsFunc(inputs, func(in string) bool { return filepath.Base(in) == name }); i++ {
		name = "clean" + strconv.Itoa(i) + ".pcapng"
	}
	return name
}

// profile has the settings of --for for a reader of the kept packets, without --keep flow. The
// zero value is for no reader.
type profile struct {
	Name          string
	Strip, Ignore []string
}

// profileOf returns the settings of --for for a reader.
func profileOf(r *cli.Reader) (p profile) {
	if !r.IsSet() {
		return p
	}
	p.Name = r.Name
	if r.KeysVLAN {
		p.Strip = []string{"vlan"}
	}
	if r.Verifies {
		p.Ignore = []string{"l4-checksum"}
	}
	return p
}

// adapt makes a recommendation one for the reader.
func (p *profile) adapt(r *recommendation) {
	if p.Name == "" {
		return
	}
	r.For, r.Keep = p.Name, "flow"
	if !slices.Contains(r.Ignore, "l4-checksum") && slices.Contains(p.Ignore, "l4-checksum") {
		r.Removes, r.Wrong = r.Removes+r.resummed, r.Wrong+r.resummed
		if !r.Across { // packets known only by a checksum stay
			r.Removes, r.doubtful = r.Removes-r.doubtful, 0
		}
	}
	r.Strip, r.Ignore = united(r.Strip, p.Strip), united(r.Ignore, p.Ignore)
}

// united returns the words of both lists, each once.
func united(one, other []string) []string {
	all := slices.Concat(one, other)
	slices.Sort(all)
	return slices.Compact(all)
}

// besides returns a list for the command line, empty if --for sets as much.
func besides(words, set []string) []string {
	for _, word := range words {
		if !slices.Contains(set, word) {
			return words
		}
	}
	return nil
}
