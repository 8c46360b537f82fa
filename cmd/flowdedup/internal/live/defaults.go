// SPDX-License-Identifier: Apache-2.0

package live

import (
	"slices"
	"time"

	"github.com/spf13/pflag"

	"github.com/flowdedup/flowdedup/capture/afpacket"
	"github.com/flowdedup/flowdedup/engine/window"
)

// liveWindow is the window where the host gives packets their times. A busy host gives a
// packet and its copy times that are further apart than window.Default (windows.md has the
// measurement).
const liveWindow = 10 * time.Millisecond

// chooseDefaults sets flags that were not given, by the source of times and by the reader of
// the kept packets.
func (f *flags) chooseDefaults(fs *pflag.FlagSet) error {
	if !fs.Changed("window") && f.cardTimes(afpacket.StampsInHardware) {
		f.Window.Duration = window.Default
	}
	return f.ProfileFlags.Apply(fs, &f.CompareFlags, &f.KeepFlags, f.writes())
}

// cardTimes reports whether all times come from network cards. stamps says whether the card
// of an interface gives times.
func (f *flags) cardTimes(stamps func(string) bool) bool {
	unstamped := func(name string) bool { return !stamps(name) } // so are any, addresses and mirror targets
	return f.Conf.HardwareTime && !slices.ContainsFunc(f.Conf.Interfaces, unstamped)
}

// writes reports whether packets are written or forwarded.
func (f *flags) writes() bool { return f.output != "" || f.duplicates != "" || len(f.forward) > 0 }
