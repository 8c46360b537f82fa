package match

import (
	"bytes"
	"fmt"
	"net/netip"
	"runtime"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/capture/records"
)

// TestHoldMemory has records of ever new flows wait, all of one moment, in lines of several
// lengths. They take no more memory than they may, leave in their order, and none is lost.
func TestHoldMemory(t *testing.T) {
	const memory = 8 << 20
	for _, length := range []int{0, 100, 10_000} {
		t.Run(fmt.Sprint(length), func(t *testing.T) {
			n := min(1<<17, 1<<28/max(length, 1))
			var emitted uint64
			h := NewHold(HoldConfig{Window: time.Hour, Memory: memory, Emit: func(h *Held) error {
				if h.Record.Bytes != emitted || len(h.Line) != length {
					t.Fatalf("record %d with %d bytes, want record %d", h.Record.Bytes, len(h.Line), emitted)
				}
				emitted++
				return nil
			}})
			b := &records.Batch{Kind: records.JSON, Raw: bytes.Repeat([]byte{'x'}, length)}
			verdicts, judgments := []records.Verdict{records.Keep}, make([]Judgment, 1)
			before, most := heap(), 0
			for i := range n {
				r := rec(1, netip.AddrPortFrom(netip.MustParseAddr("10.0.0.1"), uint16(i)).String(), server, 6, 0, 1)
				r.Bytes, r.Length = uint64(i), length
				b.Records = append(b.Records[:0], r)
				judgments[0] = Judgment{Point: 1, Flow: uint64(i) * 0x9e3779b97f4a7c15}
				if err := h.Add(b, verdicts, judgments); err != nil {
					t.Fatal(err)
				}
				if i%(n/16) == 0 {
					most = max(most, heap()-before)
				}
			}
			if most > memory+memory/4 || most < memory/4 {
				t.Errorf("%d bytes of memory, want up to %d", most, memory)
			}
			if early := h.Early(); early == 0 || early != emitted {
				t.Errorf("%d records were early, and %d written", early, emitted)
			}
			if err := h.Flush(); err != nil || emitted != uint64(n) {
				t.Errorf("%d records of %d, %v", emitted, n, err)
			}
			runtime.KeepAlive(h)
		})
	}
}

// heap returns how many bytes are in use.
func heap() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
