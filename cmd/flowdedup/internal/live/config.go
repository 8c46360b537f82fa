// SPDX-License-Identifier: Apache-2.0

package live

import (
	"log/slog"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"github.com/flowdedup/flowdedup/capture/afpacket"
	"github.com/flowdedup/flowdedup/capture/bpf"
	"github.com/flowdedup/flowdedup/capture/mirror"
	"github.com/flowdedup/flowdedup/capture/pcapoverip"
	"github.com/flowdedup/flowdedup/capture/xdp"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/count"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/dedup"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/monitor"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/sink"
	"github.com/flowdedup/flowdedup/engine/window"
)

// config configures a run. The caller has checked everything in it.
type config struct {
	// Inputs names all inputs: the interfaces of Ring, Addresses, and the targets of Mirror.
	Inputs []string
	// Addresses are where captures come from over a network.
	Addresses []pcapoverip.Address
	// Mirror is where datagrams with packets come. runLive sets its Idle, Delay and Warn.
	Mirror mirror.Config
	// MergeWait is how long a packet waits for earlier packets of other inputs, after its
	// arrival, if an input is an address, or if there are interfaces and targets.
	MergeWait time.Duration
	// Ring is where packets come from. runLive sets its Idle and Hold.
	Ring afpacket.Config
	// XDP captures through AF_XDP, if it is not nil. runLive takes from Ring what both have,
	// except filters.
	XDP *xdp.Config
	// Filter is the source of Ring.Filters and XDP.Filter, and of the filter for addresses and
	// targets.
	Filter bpf.Filter
	// Dedup configures the filter; its inputs and outputs are ignored.
	Dedup dedup.Config
	// Distinct configures the counts: none without keys. Its inputs, rows and sightings are
	// ignored. Addresses are taken from the headers that identities begin with.
	Distinct count.Config

	// Outputs are where packets go. runLive sets what follows from the other fields.
	Outputs sink.Config
	// Reports is the file, or "-", that rows of counts are appended to.
	Reports string
	// Reopen gets a function that opens Reports again by name. It may be nil.
	Reopen func(reopen func())
	// Save is the folder that gets the counters of each window, for distinct --merge, and
	// Sensor the name of this sensor there. "" is none.
	Save, Sensor string
	// Slide is how often a row of Distinct.Past is appended; 0 is never.
	Slide time.Duration

	// State is the file that the run is saved to every StateEvery, and resumed from if it
	// exists. "" is none.
	State      string
	StateEvery time.Duration
	// BeginAnew sets a state aside that does not fit, and begins without it.
	BeginAnew bool
	// KeyGiven says that the user gave the secret, which then is not saved.
	KeyGiven bool

	// Learn configures the choice of copies to remove; its zero value leaves it to Dedup.
	Learn learnConfig

	User     string        // to become once everything is open; "" stays
	Packets  uint64        // to capture; 0 for no end
	Duration time.Duration // to capture for; 0 for no end

	// Status gets the state of the run about once a second and at the end. While it is
	// busy, statuses are skipped. It may be nil.
	Status func(monitor.Status)
	Log    *slog.Logger
}

// liveWindow is the window where the host gives packets their times. A busy host gives a
// packet and its copy times that are further apart than window.Default (windows.md has the
// measurement).
const liveWindow = 10 * time.Millisecond

// chooseDefaults sets flags that were not given, by the source of times and by the reader of the
// kept packets.
func (f *flags) chooseDefaults(fs *pflag.FlagSet) error {
	if !fs.Changed("window") && f.cardTimes(afpacket.StampsInHardware) {
		f.Window.Duration = window.Default
	}
	return f.ForFlag.Apply(fs, &f.CompareFlags, &f.KeepFlags, f.writes())
}

// cardTimes reports whether all times come from network cards. stamps says whether the card
// of an interface gives times.
func (f *flags) cardTimes(stamps func(string) bool) bool {
	unstamped := func(name string) bool { return !stamps(name) } // so are any, addresses and mirror targets
	return f.Conf.HardwareTime && !slices.ContainsFunc(f.Conf.Interfaces, unstamped)
}

// keeps reports whether kept packets are written or forwarded.
func (f *flags) keeps() bool { return f.cfg.Outputs.Kept != "" || len(f.cfg.Outputs.Forward) > 0 }

// writes reports whether kept or removed packets are.
func (f *flags) writes() bool { return f.keeps() || f.cfg.Outputs.Removed != "" }

// reassembles reports whether fragments of tunnels are put together. A decision of --learn may open
// tunnels.
func (c *config) reassembles() bool { return c.Learn.For > 0 || c.Dedup.Reassembles() }
