// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/engine/calendar"
	"github.com/flowdedup/flowdedup/engine/distinct/top"
)

// TestRank compares rankings of windows and of the whole stream with maps, exact and in little memory.
// They do not depend on batches.
func TestRank(t *testing.T) {
	packets := newPackets(60_000, 1e18, 200*time.Millisecond)
	hour := calendar.Calendar{Every: time.Hour}
	type id struct {
		start int64
		total bool
		key   string
		value uint32
	}
	truth := map[id][2]uint64{}
	for _, p := range packets {
		start := int64(noTime)
		if p.time != noTime {
			start, _ = hour.Window(p.time)
		}
		for key, value := range []uint32{p.host(), p.flow} {
			for _, one := range []id{{start, false, hostAndFlow[key].Name, value}, {0, true, hostAndFlow[key].Name, value}} {
				truth[one] = [2]uint64{truth[one][0] + 1, truth[one][1] + lengthOf(p)}
			}
		}
	}
	for name, cfg := range map[string]Config{
		"exact":  {Method: methodAuto},
		"bytes":  {Method: methodSketch, TopBy: top.Bytes},
		"budget": {Method: methodAuto, Budget: 3 << 20},
		"limit":  {Method: methodAuto, Budget: 4 << 20, SetLimit: 1000, TopBy: top.Bytes},
		"forget": {Method: methodLRU, Memory: 1 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			cfg.Calendar, cfg.Top, cfg.Total = hour, 20, func(int64, int64, []Count) error { return nil }
			got := reportsOf(t, cfg, packets, 1)
			if again := reportsOf(t, cfg, packets, 2); fmt.Sprint(flat(got)) != fmt.Sprint(flat(again)) {
				t.Error("rankings depend on batches")
			}
			ranked, over := 0, 0
			for _, r := range got {
				for i, e := range r.count.Top {
					one := id{r.start, r.total, r.count.Key, binary.BigEndian.Uint32(e.Key[:])}
					if r.total {
						one.start = 0
					}
					for which, n := range truth[one] {
						late := cfg.Budget > 0 && !r.total // windows may close early
						if n > e.Count[which] && !late || n < e.Count[which]-e.Over[which] {
							t.Fatalf("%+v has %d, not %d to %d", one, n, e.Count[which]-e.Over[which], e.Count[which])
						}
					}
					if ranked++; e.Over[0] > 0 {
						over++
					}
					if i == 0 && cfg.Budget == 0 {
						for other, n := range truth {
							if other.start == one.start && other.total == one.total && other.key == one.key && n[cfg.TopBy] > e.Count[cfg.TopBy] {
								t.Fatalf("%+v with %v is before %+v with %v", other, n, one, e.Count)
							}
						}
					}
				}
			}
			if ranked == 0 || (over > 0) != (cfg.Budget > 0) {
				t.Errorf("%d of %d counts may be too high", over, ranked)
			}
		})
	}
}

// lengthOf returns the length that a packet has in tests.
func lengthOf(p packet) uint64 { return 60 + uint64(p.flow%1400) }
