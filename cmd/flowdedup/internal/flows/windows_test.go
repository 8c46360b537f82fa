// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"errors"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/capture/keys"
	"github.com/flowdedup/flowdedup/capture/records"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/count"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/calendar"
)

// TestWildTimes counts the records of a good exporter together with a sender's that chooses
// times at random: all of the good ones count, and few windows are open.
func TestWildTimes(t *testing.T) {
	for _, live := range []bool{false, true} {
		wildTimes(t, live)
	}
}

func wildTimes(t *testing.T, live bool) {
	t.Helper()
	const now, budget = int64(1_700_000_000_000_000_000), 4 << 20
	counted, rows := uint64(0), 0
	c := newCounts(&distinct{
		Keys: []keys.Config{{Kind: keys.Src}}, Calendar: calendar.Calendar{Every: time.Minute}, Budget: budget,
		Rows: func(all []count.Row) error {
			for i := range all {
				counted += all[i].Packets
			}
			rows += len(all)
			return nil
		},
	}, engine.Secret{1})
	c.live = live
	r := rand.New(rand.NewPCG(1, 2))
	const good = 3000
	wild := uint64(0)
	for i := range int64(good) {
		at := now + i*int64(100*time.Millisecond)
		one := records.Record{Source: netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}), Received: at, Exported: at}
		if err := c.add(&one, at-int64(time.Second), at-int64(time.Second)/2, false); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			start, end := r.Int64N(4e18), r.Int64N(4e18)
			one.Source = netip.AddrFrom4([4]byte{172, byte(i >> 16), byte(i >> 8), byte(i)})
			before := c.late
			if err := c.add(&one, min(start, end), max(start, end), false); err != nil {
				t.Fatal(err)
			}
			wild += c.late - before
		}
		if len(c.open) > c.mostOpen() || c.bytes() > budget {
			t.Fatalf("%d windows are open, of %d bytes", len(c.open), c.bytes())
		}
		if err := c.advance(at, 2*time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.end(); err != nil {
		t.Fatal(err)
	}
	if wild < 3*good*9/10 || counted < good || rows > maxOpen {
		t.Errorf("%d of %d wild records were late; %d counted, %d were good; %d rows", wild, 3*good, counted, good, rows)
	}
}

// TestCutWindows marks the windows that records did not come from start to end of.
func TestCutWindows(t *testing.T) {
	var cuts []string
	c := newCounts(&distinct{
		Keys: []keys.Config{{Kind: keys.Src}}, Calendar: calendar.Calendar{Every: time.Minute}, Budget: 1 << 20,
		Rows: func(rows []count.Row) error {
			cuts = append(cuts, rows[0].Cut.Cut)
			return nil
		},
	}, engine.Secret{1})
	const minute = int64(time.Minute)
	for _, at := range []int64{10*minute + minute/2, 11*minute + minute/2, 12*minute + minute/2} {
		one := records.Record{Source: netip.AddrFrom4([4]byte{10, 0, 0, 1}), Received: at, Exported: at}
		if err := errors.Join(c.add(&one, at, at, false), c.advance(at, time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.end(); err != nil {
		t.Fatal(err)
	}
	if want := []string{"start", "", "end"}; !slices.Equal(cuts, want) {
		t.Errorf("%q, want %q", cuts, want)
	}
}

// TestLongRecords opens no more windows than may be open for records that last for long, and
// lets time go on.
func TestLongRecords(t *testing.T) {
	const now = int64(1_700_000_000_000_000_000)
	c := newCounts(&distinct{
		Keys: []keys.Config{{Kind: keys.Src}}, Calendar: calendar.Calendar{Every: time.Second}, Budget: 1 << 20,
		Rows: func([]count.Row) error { return nil },
	}, engine.Secret{1})
	for i := range int64(300) {
		at := now + i*int64(time.Second)
		one := records.Record{Source: netip.AddrFrom4([4]byte{10, 0, 0, byte(i)}), Received: at, Exported: at}
		if err := c.add(&one, at-int64(time.Hour), at, false); err != nil {
			t.Fatal(err)
		}
		if n := len(c.open); n > maxOpen || c.open[n-1].end < at {
			t.Fatalf("%d windows are open, the last one of which ends at %d, before %d", n, c.open[n-1].end, at)
		}
	}
	if err := c.end(); err != nil {
		t.Fatal(err)
	}
}

// TestClockSet sets this host's clock far forward and back again, and back by an hour, while
// records come. Those of a live run count at once, in windows that may have been closed.
func TestClockSet(t *testing.T) {
	const now = int64(1_700_000_000_000_000_000)
	for _, live := range []bool{true, false} {
		counted := uint64(0)
		c := newCounts(&distinct{
			Keys: []keys.Config{{Kind: keys.Src}}, Calendar: calendar.Calendar{Every: time.Minute}, Budget: 1 << 20,
			Rows: func(all []count.Row) error {
				counted += all[0].Packets
				return nil
			},
		}, engine.Secret{1})
		c.live = live
		total := uint64(0)
		for _, step := range []time.Duration{0, 24 * time.Hour, 0, 100 * 365 * 24 * time.Hour, 0, -time.Hour} {
			for i := range int64(1200) {
				at := now + int64(step) + i*int64(time.Second)
				one := records.Record{Source: netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}), Received: at, Exported: at}
				if err := c.add(&one, at, at, false); err != nil {
					t.Fatal(err)
				}
				if err := c.advance(at, 2*time.Minute); err != nil {
					t.Fatal(err)
				}
				total++
			}
		}
		if err := c.end(); err != nil {
			t.Fatal(err)
		}
		if all := counted == total && c.late == 0; all != live {
			t.Errorf("live %v: %d of %d records were counted, %d are late", live, counted, total, c.late)
		}
		if counted+c.late != total {
			t.Errorf("live %v: %d of %d records were counted, %d are late", live, counted, total, c.late)
		}
	}
}
