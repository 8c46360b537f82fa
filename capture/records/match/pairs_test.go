// SPDX-License-Identifier: Apache-2.0

package match

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/capture/records"
)

// TestPairsOfOneFlow has two exporters report each packet of a flow, the second a second later.
// All records match, however many are alive, until memory is full: then the count of records
// without room says so. A judge that resumes in between has the same verdicts.
func TestPairsOfOneFlow(t *testing.T) {
	const packets, later = 20_000, 200
	for _, c := range []struct{ memory, copies int }{{2 << 20, packets}, {1 << 20, 12_000}} {
		var all []records.Record
		for n := range packets + later {
			if n < packets {
				all = append(all, rec(1, client, server, 17, float64(n)/later, float64(n)/later))
			}
			if n >= later {
				all = append(all, rec(2, client, server, 17, float64(n-later)/later, float64(n-later)/later))
			}
		}
		cfg := Config{Memory: c.memory, Pairs: &Deltas{Start: 5 * time.Second, Duration: -1, Packets: -1, Bytes: -1}}
		j, resumed := newJudge(t, cfg), newJudge(t, cfg)
		half := len(all) / 2
		j.Judge(&records.Batch{Records: all[:half]})
		var flows bytes.Buffer
		state, err := j.Save(&flows)
		if err != nil {
			t.Fatal(err)
		}
		if err := resumed.Restore(state, &flows, 1<<30); err != nil {
			t.Fatal(err)
		}
		verdicts, _ := j.Judge(&records.Batch{Records: all[half:]})
		if again, _ := resumed.Judge(&records.Batch{Records: all[half:]}); !slices.Equal(verdicts, again) {
			t.Errorf("in %d bytes verdicts differ after resuming", c.memory)
		}
		counts := j.Counts()
		if full := c.copies < packets; int(counts.Copies) < c.copies || (counts.NoRoom > 0) != full || counts.NoRoom != counts.Unchecked {
			t.Errorf("in %d bytes: %+v", c.memory, counts)
		}
	}
}

// TestPairsRing has records of two days come in turn, and more than memory holds: those that no
// longer live make room, as does a record whose time is far ahead.
func TestPairsRing(t *testing.T) {
	var all []observed
	for n := range 40_000 {
		at := float64(n) - float64(n%2)*86400
		if n == 100 {
			at += 1e8
		}
		all = append(all, observed{Record: rec(1, client, server, 17, at, at)}, observed{Record: rec(2, client, server, 17, at, at)})
	}
	_, j := verdictsOf(t, Config{Pairs: &Deltas{Start: time.Second, Duration: -1, Packets: -1, Bytes: -1}}, all, whole)
	if c := j.Counts(); c.Copies != 40_000 || c.Unchecked != 0 {
		t.Errorf("%+v", c)
	}
}
