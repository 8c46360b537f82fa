package distinct

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/capture/flow"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/input"
	"github.com/flowdedup/flowdedup/engine/calendar"
)

// crowded makes a pcap of raw IPv4 headers, each from another source, so many in each of
// the given hours, evenly spaced.
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

// TestLookAhead counts the same whether counters were made ready or not, with any method,
// workers and size of batches, and has windows that follow each other start with what the
// one before grew to.
func TestLookAhead(t *testing.T) {
	const packets = 50_000
	name := crowded(t, packets, 0, 1, 2, 5, 6)
	for _, method := range Methods() {
		var want []Row
		for _, c := range []struct{ workers, chunk int }{{1, 0}, {3, 100_000}} {
			t.Run(fmt.Sprintf("%s/workers=%d/chunk=%d", method, c.workers, c.chunk), func(t *testing.T) {
				var rows []Row
				_, err := Run(context.Background(), Config{
					Inputs: []string{name}, Input: input.Options{ChunkSize: c.chunk}, Workers: c.workers,
					Keys:     []flow.KeyConfig{{Of: flow.Src}, {Of: flow.Flow}},
					Calendar: calendar.Calendar{Every: time.Hour}, Method: method, FPR: 1e-9, Memory: lruMemory(method),
					Rows: func(r []Row) error { rows = append(rows, r...); return nil },
				})
				if err != nil {
					t.Fatal(err)
				}
				for i, r := range rows {
					if want := uint64(packets); r.Family == "all" && (r.Distinct != want || r.Packets != want) {
						t.Errorf("row %d: %+v, want %d distinct", i, r, want)
					}
				}
				if want == nil {
					want = rows
				}
				if !slices.EqualFunc(rows, want, equalRows) {
					t.Errorf("rows %+v, want %+v", rows, want)
				}
			})
		}
	}
}

// lruMemory has rows that forget hold everything.
func lruMemory(method string) int {
	if method == methodRows {
		return 32 << 20
	}
	return 0
}

func equalRows(a, b Row) bool {
	start, end := equalStamps(a.WindowStart, b.WindowStart), equalStamps(a.WindowEnd, b.WindowEnd)
	a.WindowStart, a.WindowEnd, b.WindowStart, b.WindowEnd = nil, nil, nil, nil
	return start && end && a == b
}

func equalStamps(a, b *string) bool { return a == b || a != nil && b != nil && *a == *b }

// TestSpare makes counters of the right size for the next window, once, gives them to it
// alone, and gives back those that no window comes for.
func TestSpare(t *testing.T) {
	const hour, packets = int64(time.Hour), 100_000
	c := NewCounting(&Config{
		Keys: []flow.KeyConfig{{Of: flow.Src}}, Calendar: calendar.Calendar{Every: time.Hour}, Method: methodAuto, FPR: 1e-9,
		Rows: func([]Row) error { return nil },
	})
	fill := func(w *window) {
		addrs, seen := make([]uint32, packets), make([]uint64, packets/64+1)
		for i := range addrs {
			addrs[i] = uint32(i)
		}
		if err := w.keys[0].addr4.begin(c.cfg.newAddresses); err != nil {
			t.Fatal(err)
		}
		w.keys[0].addr4.TestAndSet(seen, addrs)
	}
	first := c.openWindow(0, hour)
	fill(first)
	if c.lookAhead(first, hour/8*7-1); c.spare != nil {
		t.Error("counters are made before the last eighth of a window")
	}
	c.lookAhead(first, hour/8*7)
	made := c.spare
	if c.lookAhead(first, hour-1); made == nil || c.spare != made {
		t.Fatalf("counters are not made once: %v, %v", made, c.spare)
	}
	if other := c.openWindow(5*hour, 6*hour); other.keys[0].addr4.ahead != nil || c.spare != made {
		t.Error("another window than the next takes them")
	}
	next := c.openWindow(hour, 2*hour)
	ahead := next.keys[0].addr4.ahead
	if ahead == nil || c.spare != nil {
		t.Fatal("the next window does not take them")
	}
	before := ahead.Counts().MemoryBytes
	fill(next)
	if got := next.keys[0].addr4.Counts(); next.keys[0].addr4.Counter != ahead || got.Distinct != packets || got.MemoryBytes > before+before/8 {
		t.Errorf("%+v of %d bytes", got, before)
	}
	c.lookAhead(next, 2*hour-1)
	for _, w := range []*window{first, next} {
		c.closeWindow(w.start, w.end, w)
	}
	if err := c.Close(); err != nil || c.spare != nil {
		t.Errorf("after Close: %v, spare %v", err, c.spare)
	}
}
