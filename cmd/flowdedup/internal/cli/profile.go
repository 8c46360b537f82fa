// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/flowdedup/flowdedup/capture/flow"
)

// Reader is a program that reads what is kept, as it is with its own defaults. The manual
// has the table and the reasons (readers.md).
type Reader struct {
	Name, title string
	// KeysVLAN: a VLAN is part of a flow (Suricata: vlan.use-for-tracking, src/flow-hash.c).
	KeysVLAN bool
	// Verifies: packets with wrong TCP and UDP checksums are not taken (Suricata:
	// stream.checksum-validation; Zeek: ignore_checksums).
	Verifies bool
	// needsWhole: truncated packets are not taken, or lose what logs are made of (Suricata:
	// the event ipv4.trunc_pkt; Zeek: content gaps).
	needsWhole bool
	// watches: a program looks for what repeats, and not a person.
	watches bool
}

// readers are the values of --for.
var readers = []Reader{
	{Name: "suricata", title: "Suricata", KeysVLAN: true, Verifies: true, needsWhole: true, watches: true},
	{Name: "zeek", title: "Zeek", Verifies: true, needsWhole: true, watches: true},
	{Name: "arkime", title: "Arkime", watches: true},
	{Name: "wireshark", title: "Wireshark"},
	{Name: "none"},
}

// IsSet reports whether there is a reader.
func (r *Reader) IsSet() bool { return r.title != "" }

// ReaderNames returns the values of --for.
func ReaderNames() (names []string) {
	for i := range readers {
		names = append(names, readers[i].Name)
	}
	return names
}

// ParseReader reads a value of --for.
func ParseReader(s string) (Reader, error) {
	name, err := oneOfNear(ReaderNames())(s)
	if err != nil {
		return Reader{}, err
	}
	return readers[slices.IndexFunc(readers, func(r Reader) bool { return r.Name == name })], nil
}

// profileFlags choose the settings for a reader.
type profileFlags struct{ reader Reader }

func (f *profileFlags) register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.Var(NewParsed(&f.reader, "", "reader", ParseReader), "for", "keep, strip and compare as this reader needs it: "+strings.Join(ReaderNames(), ", "))
	GroupKeep.Add(fs, "for")
	CompleteWords(cmd, map[string][]string{"for": ReaderNames()})
}

// apply rejects flags that would make the reader blind, and sets those that were not given.
// written says that packets are written.
func (f *profileFlags) apply(fs *pflag.FlagSet, compare *compareFlags, keep *keepFlags, written bool) error {
	r := &f.reader
	if !r.IsSet() {
		return nil
	}
	if err := r.refuse(fs, compare, keep); err != nil {
		return &usageError{fmt.Errorf("--for %s: %w", r.Name, err)}
	}
	if written && r.KeysVLAN && !fs.Changed("strip") && !slices.Contains(keep.Within, "vlan") {
		keep.strip = []string{"vlan"}
	}
	if r.Verifies && !fs.Changed("ignore") && compare.Identity != flow.Frame && !keep.first {
		compare.Ignore = flow.IgnoreAlso(flow.L4Checksum)
	}
	return nil
}

// standardFrame is the length of the longest Ethernet frame without a tag that every link
// carries, without its check sequence (IEEE 802.3, 3.2.7).
const standardFrame = 1514

// refuse returns an error for a flag that would make the reader blind.
func (r *Reader) refuse(fs *pflag.FlagSet, compare *compareFlags, keep *keepFlags) error {
	firstOfVLANs := keep.keep == "first" && fs.Changed("keep") && fs.Changed("strip") && !slices.Contains(keep.strip, "vlan")
	switch {
	case r.KeysVLAN && firstOfVLANs:
		return fmt.Errorf("--keep first leaves a VLAN for each direction, of which %s makes flows with one side: use --keep flow or --strip vlan", r.title)
	case r.Verifies && keep.first && strings.Contains(fs.Lookup("ignore").Value.String(), "l4-checksum"):
		return fmt.Errorf("--prefer first keeps copies whose checksums were left to a network card, and %s drops these: leave it out", r.title)
	case r.watches && keep.mark:
		return fmt.Errorf("--mark writes the copies too, and %s would see them: leave it out", r.title)
	case r.watches && compare.Window.None:
		return fmt.Errorf("--window none hides from %s what a host repeats, such as a beacon: use a window of time", r.title)
	case r.watches && compare.Refresh:
		return fmt.Errorf("--refresh hides from %s what a host repeats, such as a beacon: leave it out", r.title)
	case r.needsWhole:
		return r.refuseCut(fs)
	}
	return nil
}

// refuseCut returns an error for flags that cut packets.
func (r *Reader) refuseCut(fs *pflag.FlagSet) error {
	for _, name := range []string{"snaplen", "slice"} {
		f := fs.Lookup(name)
		if f == nil || !f.Changed {
			continue
		}
		n, err := strconv.Atoi(f.Value.String())
		if whole := n >= standardFrame || name == "snaplen" && n == 0; err != nil || !whole {
			return fmt.Errorf("--%s %s cuts packets, and %s needs whole ones: leave it out", name, f.Value, r.title)
		}
	}
	return nil
}
