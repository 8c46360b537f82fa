// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/pcapoverip"
	"github.com/flowdedup/flowdedup/capture/records/match"
	"github.com/flowdedup/flowdedup/capture/rotate"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/flows/text"
)

// policy says how copies are treated.
type policy string

// The policies.
const (
	byOwner  policy = "owner"  // the first point that reports a flow owns it
	byRecord policy = "record" // records match one to one
	merge    policy = "merge"  // as owner, and the kept record has the greatest counters
	mark     policy = "mark"   // as owner, and copies stay, marked
)

// policies returns the names of all policies.
func policies() []string {
	return []string{string(byOwner), string(byRecord), string(merge), string(mark)}
}

// parsePolicy reads the name of a policy.
func parsePolicy(s string) (policy, error) {
	if !slices.Contains(policies(), s) {
		return "", fmt.Errorf("must be one of %s", strings.Join(policies(), ", "))
	}
	return policy(s), nil
}

// config configures a run. The caller has checked everything in it.
type config struct {
	Inputs []string
	// Listen are the addresses that exporters send datagrams to. Streams are the addresses to
	// which they send IPFIX over TCP, or from which it is fetched.
	Listen  []netip.AddrPort
	Streams []pcapoverip.Address
	Format  string // one of formats
	Map     text.Mapping
	Times   text.TimeLayout  // of text
	Inner   bool             // sFlow's sampled packets are read inside their tunnels
	Tunnels *headers.Tunnels // the UDP ports of these; nil are the usual ones
	Match   match.Config
	// Memory bounds the memory for records in bytes. The budget of distinct comes on top of it: see
	// shares. It takes the place of Match.Memory.
	Memory int
	// KeyGiven says that the user chose Match.Key. Otherwise it is biflow if an input reports
	// both directions in one record, or from the first such record on.
	KeyGiven bool
	Policy   policy
	// Window is for how long records wait for their copies before they are written.
	Window time.Duration
	Output string // "" for none
	CSV    bool
	Rotate rotate.Options // Output is a series of files if it has a size or an interval
	// Relay is the address that messages without copies go to, "" for none.
	Relay    string
	Spoof    bool
	Distinct distinct
	// Inspect has summary.Inspection say which policy fits.
	Inspect bool
	// Flags are the flags of the command line that define copies. The recommended command repeats
	// them.
	Flags []string
	// State is the file that the run is saved to, and resumed from, "" for none.
	State      string
	StateEvery time.Duration
	// BeginAnew sets a state aside that cannot be resumed.
	BeginAnew bool
	// Status gets the summary so far once a second; nil is none.
	Status func(*summary)
	Log    *slog.Logger
}

// live reports whether only a signal ends the run.
func (c *config) live() bool { return len(c.Listen)+len(c.Streams) > 0 }

// shares are the parts of config.Memory.
type shares struct {
	judge  int // flows and points
	hold   int // records that wait to be written; with config.Inspect the other judges
	reader int // memory for exporters and their messages
}

func (c *config) shares() shares { return shares{c.Memory / 2, c.Memory / 4, c.Memory / 4} }
