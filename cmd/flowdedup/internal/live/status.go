package live

import (
	"time"

	"github.com/flowdedup/flowdedup/capture/diffs"
	"github.com/flowdedup/flowdedup/capture/ring"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/sink"
)

// Status is what a run shows of itself, as of one moment. Counts are since the
// run began; those of packets and bytes are of what was judged, captured bytes.
type Status struct {
	Started, Now time.Time
	// Stopping is set in the last status of a run.
	Stopping bool

	Rings                []ring.Stats // one for each ring
	PacketsIn, BytesIn   uint64
	Duplicates           uint64
	BytesOut             uint64 // of the packets kept
	DuplicatesByProtocol map[string]uint64
	Diffs                diffs.Counts // of the duplicates sampled

	Filter   Filter
	Distinct []Distinct // by key and family, in the order of the command line
	Outputs  []sink.Output
	Forward  *sink.Forward // nil without
	State    *State        // nil without
}

// Filter is the filter of duplicates.
type Filter struct {
	Window, Identity, Method string
	MemoryBytes              int
	Fill                     float64 // share of its cells that are taken, 0 to 1
	PredictedFPR             float64
	EvictedLive              uint64
	SuggestedMemory          int // bytes; 0 where EvictedLive gives no reason for more
}

// Distinct is the count of one key and family.
type Distinct struct {
	Of, Family string
	// The landmark window that is open, and what it has counted.
	WindowStart, WindowEnd time.Time
	Window                 uint64
	// The count over the Span before Now, and the bounds that hold it with 95 %
	// confidence; Span is 0 where none is kept.
	Span               time.Duration
	Sliding, Low, High uint64
}

// State is the file that the run can be resumed from.
type State struct {
	Name   string
	Saved  time.Time // zero before the first time
	Bytes  int64
	Failed string // why it could not be saved the last time, or ""
}
