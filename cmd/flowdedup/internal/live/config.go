package live

import (
	"log/slog"
	"time"

	"github.com/flowdedup/flowdedup/capture/bpf"
	"github.com/flowdedup/flowdedup/capture/ring"
	"github.com/flowdedup/flowdedup/capture/rotate"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/dedup"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/distinct"
)

// Config says what a run does. Everything in it is checked by the caller.
type Config struct {
	// Ring is where packets come from. Run sets its Idle and Hold.
	Ring ring.Config
	// Filter is what Ring.Filters were made of.
	Filter bpf.Filter
	// Dedup is the filter; inputs and outputs in it have no meaning.
	Dedup dedup.Config
	// Distinct is what is counted, nothing without keys; inputs, rows and sightings in
	// it have no meaning. Addresses are those of the headers that identities begin with.
	Distinct distinct.Config

	// Output and Duplicates are files, or "-", for the packets kept and removed, and
	// Forward is an interface that those kept are sent to; each "" for none.
	Output, Duplicates, Forward string
	// Rotate makes several files of each, where it has a size or an interval.
	Rotate rotate.Options
	// Reports is the file, or "-", that rows of counts are appended to.
	Reports string
	// Reopen is given what has Reports opened again by name. It may be nil.
	Reopen func(reopen func())
	// Slide is how often a row of Distinct.Past is appended; 0 for never.
	Slide time.Duration

	// State is the file that the run is saved to, and resumed from if it exists, and
	// StateEvery how often it is saved. "" is none.
	State      string
	StateEvery time.Duration
	// KeyGiven says that the user knows the secret, which then is not saved.
	KeyGiven bool

	User     string        // to become once everything is open; "" stays
	Packets  uint64        // to capture; 0 for no end
	Duration time.Duration // to capture for; 0 for no end

	// Status is told the state of the run about once a second, and at the end. It may
	// take its time: what comes meanwhile is left out. It may be nil.
	Status func(Status)
	Log    *slog.Logger
}
