// SPDX-License-Identifier: Apache-2.0

package distinct

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/capture/keys"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/count"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/input"
	"github.com/flowdedup/flowdedup/engine/calendar"
	"github.com/flowdedup/flowdedup/engine/distinct/windows"
)

// crowded makes a pcap of raw IPv4 headers, all from different sources: a number of packets in
// each of the given hours, evenly spaced.
func crowded(t *testing.T, packets int, hours ...int) string {
	t.Helper()
	le := binary.LittleEndian
	data := le.AppendUint32(nil, 0xa1b2c3d4)
	data = append(data, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0)
	data = le.AppendUint32(le.AppendUint32(data, 65535), 101)
	for _, hour := range hours {
		for i := range packets {
			at := time.Duration(i) * time.Hour / time.Duration(packets)
			data = le.AppendUint32(data, uint32(hour*3600+int(at/time.Second)))
			data = le.AppendUint32(data, uint32(at%time.Second/time.Microsecond))
			data = le.AppendUint32(le.AppendUint32(data, 20), 20)
			data = append(data, 0x45, 0, 0, 20, 0, 0, 0, 0, 64, 17, 0, 0)
			data = binary.BigEndian.AppendUint32(data, uint32(10<<24+i))
			data = append(data, 10, 0, 0, 2)
		}
	}
	name := filepath.Join(t.TempDir(), "crowded.pcap")
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestLookAhead checks that counters that are prepared ahead change no count, with any
// method, workers and batch size. A window starts with the size to which the previous window
// grew.
func TestLookAhead(t *testing.T) {
	const packets = 50_000
	name := crowded(t, packets, 0, 1, 2, 5, 6)
	for _, method := range windows.Methods() {
		var want []count.Row
		for _, c := range []struct{ workers, chunk int }{{1, 0}, {3, 100_000}} {
			t.Run(fmt.Sprintf("%s/workers=%d/chunk=%d", method, c.workers, c.chunk), func(t *testing.T) {
				var rows []count.Row
				_, err := Run(context.Background(), Config{
					Inputs: []string{name}, Input: input.Options{ChunkSize: c.chunk}, Workers: c.workers,
					Config: count.Config{
						Keys:   []keys.Config{{Kind: keys.Src}, {Kind: keys.Flow}},
						Config: windows.Config{Calendar: calendar.Calendar{Every: time.Hour}, Method: method, FPR: 1e-9, Memory: lruMemory(method)},
						Rows:   func(r []count.Row) error { rows = append(rows, r...); return nil },
					},
				})
				if err != nil {
					t.Fatal(err)
				}
				for i, r := range rows {
					if want := uint64(packets); r.Family == "all" && (r.Low > want || r.High < want || r.Method != "sketch" && r.Distinct != want || r.Packets != want) {
						t.Errorf("row %d: %+v, want %d distinct", i, r, want)
					}
				}
				if want == nil {
					want = rows
				}
				if !reflect.DeepEqual(rows, want) {
					t.Errorf("rows %+v, want %+v", rows, want)
				}
			})
		}
	}
}

// lruMemory returns memory in which LRU rows hold everything.
func lruMemory(method string) int {
	if method == "lru" {
		return 32 << 20
	}
	return 0
}

// TestBudget counts hours of many sources and flows in little memory. Rows do not depend
// on workers and batches, and stay within the budget. At this key all bounds hold, each
// of which holds with 95 %.
func TestBudget(t *testing.T) {
	const packets, total = 300_000, 8 << 20
	name := crowded(t, packets, 0, 1, 2)
	var want []count.Row
	for _, c := range []struct{ workers, chunk int }{{1, 0}, {3, 100_000}, {1, 70_001}} {
		t.Run(fmt.Sprintf("workers=%d/chunk=%d", c.workers, c.chunk), func(t *testing.T) {
			var rows []count.Row
			_, err := Run(context.Background(), Config{
				Inputs: []string{name}, Input: input.Options{ChunkSize: c.chunk}, Workers: c.workers,
				Config: count.Config{
					Keys:   []keys.Config{{Kind: keys.Src}, {Kind: keys.Flow}, {Kind: keys.Pair}},
					Config: windows.Config{Calendar: calendar.Calendar{Every: time.Hour}, Method: "auto", FPR: 1e-9, Budget: total},
					Rows:   func(r []count.Row) error { rows = append(rows, r...); return nil },
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			sampled, memory := 0, map[string]int{}
			for _, r := range rows {
				if r.Family != "all" {
					continue
				}
				if r.Low > packets || r.High < packets || r.High-r.Low > packets/10 {
					t.Errorf("%s: %d (%d to %d), want %d", r.Of, r.Distinct, r.Low, r.High, packets)
				}
				if r.Low < r.High {
					sampled++
				}
				memory[*r.WindowStart] += r.MemoryBytes
			}
			for window, bytes := range memory {
				if bytes > total {
					t.Errorf("%s: %d bytes, may have %d", window, bytes, total)
				}
			}
			if sampled == 0 || sampled == 9 {
				t.Errorf("%d of 9 counts are of samples: that tests nothing", sampled)
			}
			if want == nil {
				want = rows
			}
			if !reflect.DeepEqual(rows, want) {
				t.Errorf("rows %+v, want %+v", rows, want)
			}
		})
	}
}
