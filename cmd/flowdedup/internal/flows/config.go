package flows

import (
	"log/slog"
	"net/netip"
	"time"

	"github.com/flowdedup/flowdedup/capture/records"
	"github.com/flowdedup/flowdedup/capture/records/match"
)

// Policy says what becomes of copies.
type Policy string

// The policies.
const (
	Owner  Policy = "owner"  // the first point that tells of a flow owns it
	Record Policy = "record" // records match one to one
	Merge  Policy = "merge"  // as owner, and what stays has the greatest counters
	Mark   Policy = "mark"   // as owner, and copies stay, marked
)

// Config says what a run does. The caller has checked everything in it.
type Config struct {
	Inputs []string
	// Listen are the addresses that exporters send to.
	Listen []netip.AddrPort
	Format string
	Map    map[string]string
	Match  match.Config
	Policy Policy
	// Window is for how long records wait for their copies before they are written.
	Window time.Duration
	Output string // "" for none
	CSV    bool
	// Relay is where messages go that were cut, "" for nowhere.
	Relay string
	Spoof bool
	Log   *slog.Logger
	// Wrap wraps a reader, for tests; nil is none.
	Wrap func(records.Reader) records.Reader
}

// live reports whether the run ends by a signal alone.
func (c *Config) live() bool { return len(c.Listen) > 0 }
