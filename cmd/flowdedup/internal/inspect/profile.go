// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"slices"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
)

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
