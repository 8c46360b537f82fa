// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/flowdedup/flowdedup/capture/identity"
	"github.com/flowdedup/flowdedup/capture/traits"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
)

// ForFlag chooses settings for the program that reads the packets.
type ForFlag struct{ reader cli.Reader }

// Flag returns the flag.
func (f *ForFlag) Flag() cli.Flag {
	return cli.Flag{Name: "for", Group: cli.GroupKeep, To: cli.NewParsed(&f.reader, "", "reader", cli.ParseReader), Words: cli.ReaderNames(), Help: "keep, strip and compare as this reader needs it: " + strings.Join(cli.ReaderNames(), ", ")}
}

// Apply rejects flags that would make the reader blind, and sets flags that were not given.
// written says that packets are written.
func (f *ForFlag) Apply(fs *pflag.FlagSet, compare *CompareFlags, keep *KeepFlags, written bool) error {
	r := &f.reader
	if !r.IsSet() {
		return nil
	}
	if err := refuse(r, fs, compare, keep); err != nil {
		return cli.Usagef("--for %s: %w", r.Name, err)
	}
	keep.choice.Reader = r.Plain
	if written && r.KeysVLAN && !fs.Changed("strip") && cli.PointsOf(keep.Within).Fields&traits.PointVLAN == 0 {
		keep.choice.Strip = []string{"vlan"}
	}
	if r.Verifies && !fs.Changed("ignore") && compare.Identity != identity.Frame && !keep.choice.First {
		compare.Ignore = identity.IgnoreAlso(identity.L4Checksum)
	}
	return nil
}

// standardFrame is the length of the longest Ethernet frame without a tag that every link
// carries, without its check sequence (IEEE 802.3, 3.2.7).
const standardFrame = 1514

// refuse returns an error for a flag that would make the reader blind.
func refuse(r *cli.Reader, fs *pflag.FlagSet, compare *CompareFlags, keep *KeepFlags) error {
	firstOfVLANs := keep.keep == "first" && fs.Changed("keep") && fs.Changed("strip") && !slices.Contains(keep.choice.Strip, "vlan")
	switch {
	case r.KeysVLAN && firstOfVLANs:
		return fmt.Errorf("--keep first may leave each direction on another VLAN, which %s takes for two flows: use --keep flow or --strip vlan", r.Title)
	case r.Verifies && keep.choice.First && strings.Contains(fs.Lookup("ignore").Value.String(), "l4-checksum"):
		return fmt.Errorf("--prefer first keeps copies whose checksums a network card was to fill in, and %s drops these: leave it out", r.Title)
	case r.Watches && keep.choice.Mark:
		return fmt.Errorf("--mark writes the copies too, and %s would see them: leave it out", r.Title)
	case r.Watches && compare.Window.None:
		return fmt.Errorf("--window none hides from %s what a host repeats, such as a beacon: use a window of time", r.Title)
	case r.Watches && compare.Refresh:
		return fmt.Errorf("--refresh hides from %s what a host repeats, such as a beacon: leave it out", r.Title)
	case r.NeedsWhole:
		return refuseCut(r, fs)
	}
	return nil
}

// refuseCut returns an error for flags that cut packets.
func refuseCut(r *cli.Reader, fs *pflag.FlagSet) error {
	for _, name := range []string{"snaplen", "slice"} {
		f := fs.Lookup(name)
		if f == nil || !f.Changed {
			continue
		}
		n, err := strconv.Atoi(f.Value.String())
		if whole := n >= standardFrame || name == "snaplen" && n == 0; err != nil || !whole {
			return fmt.Errorf("--%s %s cuts packets, and %s needs whole ones: leave it out", name, f.Value, r.Title)
		}
	}
	return nil
}
