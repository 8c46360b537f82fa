package cli

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/flowdedup/flowdedup/capture/flow"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/inspect"
)

// reader is a program that reads what is kept, as it is with its own defaults. The manual
// has the table and the reasons (readers.md).
type reader struct {
	name, title string
	// keysVLAN: a VLAN is part of a flow (Suricata: vlan.use-for-tracking, src/flow-hash.c).
	keysVLAN bool
	// verifies: packets with wrong TCP and UDP checksums are not taken (Suricata:
	// stream.checksum-validation; Zeek: ignore_checksums).
	verifies bool
	// needsWhole: truncated packets are not taken, or lose what logs are made of (Suricata:
	// the event ipv4.trunc_pkt; Zeek: content gaps).
	needsWhole bool
	// watches: a program looks for what repeats, and not a person.
	watches bool
}

// readers are the values of --for.
var readers = []reader{
	{name: "suricata", title: "Suricata", keysVLAN: true, verifies: true, needsWhole: true, watches: true},
	{name: "zeek", title: "Zeek", verifies: true, needsWhole: true, watches: true},
	{name: "arkime", title: "Arkime", watches: true},
	{name: "wireshark", title: "Wireshark"},
	{name: "none"},
}

// isSet reports whether there is a reader.
func (r *reader) isSet() bool { return r.title != "" }

// readerNames returns the values of --for.
func readerNames() (names []string) {
	for i := range readers {
		names = append(names, readers[i].name)
	}
	return names
}

// parseReader reads a value of --for.
func parseReader(s string) (reader, error) {
	name, err := oneOfNear(readerNames())(s)
	if err != nil {
		return reader{}, err
	}
	return readers[slices.IndexFunc(readers, func(r reader) bool { return r.name == name })], nil
}

// profileFlags choose the settings for a reader.
type profileFlags struct{ reader reader }

func (f *profileFlags) register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.Var(newParsed(&f.reader, "", "reader", parseReader), "for", "keep, strip and compare as this reader needs it: "+strings.Join(readerNames(), ", "))
	groupKeep.add(fs, "for")
	completeWords(cmd, map[string][]string{"for": readerNames()})
}

// apply rejects flags that would make the reader blind, and sets those that were not given.
// written says that packets are written.
func (f *profileFlags) apply(fs *pflag.FlagSet, compare *compareFlags, keep *keepFlags, written bool) error {
	r := &f.reader
	if !r.isSet() {
		return nil
	}
	if err := r.refuse(fs, compare, keep); err != nil {
		return &usageError{fmt.Errorf("--for %s: %w", r.name, err)}
	}
	if written && r.keysVLAN && !fs.Changed("strip") && !slices.Contains(keep.within, "vlan") {
		keep.strip = []string{"vlan"}
	}
	if r.verifies && !fs.Changed("ignore") && compare.identity != flow.Frame && !keep.first {
		compare.ignore = flow.IgnoreAlso(flow.L4Checksum)
	}
	return nil
}

// standardFrame is the length of the longest Ethernet frame without a tag that every link
// carries, without its check sequence (IEEE 802.3, 3.2.7).
const standardFrame = 1514

// refuse returns an error for a flag that would make the reader blind.
func (r *reader) refuse(fs *pflag.FlagSet, compare *compareFlags, keep *keepFlags) error {
	firstOfVLANs := keep.keep == "first" && fs.Changed("keep") && fs.Changed("strip") && !slices.Contains(keep.strip, "vlan")
	switch {
	case r.keysVLAN && firstOfVLANs:
		return fmt.Errorf("--keep first leaves a VLAN for each direction, of which %s makes flows with one side: use --keep flow or --strip vlan", r.title)
	case r.verifies && keep.first && strings.Contains(fs.Lookup("ignore").Value.String(), "l4-checksum"):
		return fmt.Errorf("--prefer first keeps copies whose checksums were left to a network card, and %s drops these: leave it out", r.title)
	case r.watches && keep.mark:
		return fmt.Errorf("--mark writes the copies too, and %s would see them: leave it out", r.title)
	case r.watches && compare.window.None:
		return fmt.Errorf("--window none hides from %s what a host repeats, such as a beacon: use a window of time", r.title)
	case r.watches && compare.refresh:
		return fmt.Errorf("--refresh hides from %s what a host repeats, such as a beacon: leave it out", r.title)
	case r.needsWhole:
		return r.refuseCut(fs)
	}
	return nil
}

// refuseCut returns an error for flags that cut packets.
func (r *reader) refuseCut(fs *pflag.FlagSet) error {
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

// recommended returns what inspect recommends for the reader.
func (r *reader) recommended() (p inspect.Profile) {
	if !r.isSet() {
		return p
	}
	p.Name = r.name
	if r.keysVLAN {
		p.Strip = []string{"vlan"}
	}
	if r.verifies {
		p.Ignore = []string{"l4-checksum"}
	}
	return p
}

// parseFor reads the value of --for of inspect: a reader, or a duration as --duration takes.
func (f *inspectFlags) parseFor(s string) (reader, error) {
	if length, err := parseLength(s); err == nil {
		f.length = length
		return f.reader, nil
	}
	r, err := parseReader(s)
	if err != nil {
		err = fmt.Errorf("%w; or a duration such as 30s", err)
	}
	return r, err
}

// forLength reports whether --for gave a duration.
func (f *inspectFlags) forLength(fs *pflag.FlagSet) bool {
	return fs.Changed("for") && f.reader.name == ""
}
