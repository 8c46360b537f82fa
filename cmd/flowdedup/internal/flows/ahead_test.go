// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/capture/keys"
	"github.com/flowdedup/flowdedup/capture/records"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/count"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/calendar"
)

// The JSON of a run, for tests of command lines.
type (
	Summary      = summary
	PointSummary = pointSummary
)

// TestOthersKeepWindows has an exporter send records that end up to a minute after they come, or
// long before: no record of another exporter comes late for that.
func TestOthersKeepWindows(t *testing.T) {
	const now = int64(1_700_000_000_000_000_000)
	for name, wild := range map[string]func(*rand.Rand, int64) (int64, int64){
		"ahead": func(r *rand.Rand, at int64) (int64, int64) {
			end := at + r.Int64N(int64(maxAhead))
			return end, end
		},
		"behind": func(r *rand.Rand, at int64) (int64, int64) {
			end := at - r.Int64N(int64(2*time.Minute))
			return end, end
		},
		"long": func(r *rand.Rand, at int64) (int64, int64) {
			return at - int64(time.Hour), at + r.Int64N(int64(maxAhead))
		},
	} {
		for _, every := range []time.Duration{time.Second, 10 * time.Second, time.Minute} {
			for _, budget := range []int{1 << 20, 4 << 20, 64 << 20} {
				c := newCounts(&distinct{
					Keys: []keys.Config{{Kind: keys.Src}}, Calendar: calendar.Calendar{Every: every}, Budget: budget,
					Rows: func([]count.Row) error { return nil },
				}, engine.Secret{1})
				r := rand.New(rand.NewPCG(1, 2))
				late, before := uint64(0), uint64(0)
				for i := range int64(3000) {
					at := now + i*int64(100*time.Millisecond)
					one := records.Record{Source: netip.AddrFrom4([4]byte{10, 0, 0, 1}), Received: at, Exported: at}
					for range 4 {
						start, end := wild(r, at)
						if err := c.add(&one, start, end, false); err != nil {
							t.Fatal(err)
						}
					}
					before = c.late
					if err := c.add(&one, at-int64(every)/2, at-int64(every)/2, false); err != nil {
						t.Fatal(err)
					}
					late += c.late - before
					if err := c.advance(at, 2*time.Minute); err != nil {
						t.Fatal(err)
					}
				}
				if err := c.end(); err != nil {
					t.Fatal(err)
				}
				if late != 0 {
					t.Errorf("%s, windows of %v, %d bytes: %d of 3000 records of the other exporter are late", name, every, budget, late)
				}
			}
		}
	}
}
