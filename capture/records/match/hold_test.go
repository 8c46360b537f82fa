// SPDX-License-Identifier: Apache-2.0

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
			n := min(1<<16, 1<<27/max(length, 1))
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

// TestHoldBytes keeps to its memory as it counts it itself, whatever the lines and the number of records.
func TestHoldBytes(t *testing.T) {
	const memory = 64 << 10
	for name, line := range map[string]int{"messages": 0, "short lines": 100, "long lines": 5000} {
		emitted, b := 0, &records.Batch{Kind: records.IPFIX}
		if line > 0 {
			b.Kind, b.Raw = records.JSON, bytes.Repeat([]byte("x"), line)
		}
		h := NewHold(HoldConfig{Window: time.Hour, Memory: memory, Emit: func(held *Held) error {
			if held.Record.SourcePort != uint16(emitted) || len(held.Line) != line {
				t.Fatalf("%s: record %d has port %d and a line of %d bytes", name, emitted, held.Record.SourcePort, len(held.Line))
			}
			emitted++
			return nil
		}})
		const all = 1000
		for n := range all {
			b.Records = []records.Record{{SourcePort: uint16(n), Length: line, Received: 1, Exported: 1}}
			if err := h.Add(b, []records.Verdict{records.Keep}, []Judgment{{Point: 1, Flow: uint64(n)}}); err != nil {
				t.Fatal(err)
			}
			if h.Bytes() > memory {
				t.Fatalf("%s: %d bytes after %d records", name, h.Bytes(), n+1)
			}
		}
		early := h.Early()
		if early != uint64(emitted) || early == 0 || early > all-5 {
			t.Errorf("%s: %d of %d were emitted, %d early", name, emitted, all, early)
		}
		if err := h.Flush(); err != nil || emitted != all || h.Early() != early {
			t.Errorf("%s: %d emitted, %d early, %v", name, emitted, h.Early(), err)
		}
	}
}

// TestHoldClockSet sets our clock back while records wait: they leave after the window all the
// same. Times in text are not ours, and set nothing.
func TestHoldClockSet(t *testing.T) {
	for name, ours := range map[string]bool{"messages": true, "text": false} {
		t.Run(name, func(t *testing.T) {
			emitted := 0
			h := NewHold(HoldConfig{Window: 3 * time.Second, Memory: 1 << 20, Emit: func(*Held) error {
				emitted++
				return nil
			}})
			now := int64(1_700_000_000_000_000_000)
			n := 0
			add := func(at int64) {
				t.Helper()
				r := rec(1, client, server, 6, 0, 1)
				r.Start, r.End, r.Received, r.Exported = at, at, 0, 0
				if ours {
					r.Received, r.Exported = at, at
				}
				n++
				if err := h.Add(&records.Batch{Records: []records.Record{r}}, []records.Verdict{records.Keep}, []Judgment{{Flow: uint64(n)}}); err != nil {
					t.Fatal(err)
				}
			}
			for _, step := range []time.Duration{0, -time.Hour, 24 * time.Hour, -100 * 365 * 24 * time.Hour} {
				now += int64(step)
				for range 10 {
					now += int64(time.Second)
					add(now)
				}
			}
			if waits := n - emitted; ours && waits != 3 || !ours && waits < 10 {
				t.Errorf("%d of %d records wait", waits, n)
			}
			if !ours {
				return
			}
			if err := h.Advance(now + int64(3*time.Second)); err != nil || emitted != n {
				t.Errorf("%d of %d records were written when nothing more came, %v", emitted, n, err)
			}
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

// TestHoldBorder emits a record when it has waited for the window, and not a nanosecond earlier. Our
// clock was set back if a message is more than ten seconds older than the message before.
func TestHoldBorder(t *testing.T) {
	const window = 3 * time.Second
	start := int64(1_700_000_000_000_000_000)
	for _, c := range []struct {
		steps   []time.Duration // Advance to these times
		emitted int
	}{
		{[]time.Duration{window - 1}, 0},
		{[]time.Duration{window}, 1},
		{[]time.Duration{window - 1, window - 1 - 10*time.Second, window}, 1}, // out of order
		{[]time.Duration{window - 1, window - 2 - 10*time.Second, 0}, 1},      // set back: due 10 s and 1 ns earlier
		{[]time.Duration{window - 1, window - 1 - 10*time.Second, 0}, 0},
	} {
		emitted := 0
		h := NewHold(HoldConfig{Window: window, Memory: 1 << 20, Emit: func(*Held) error {
			emitted++
			return nil
		}})
		r := rec(1, client, server, 6, 0, 1)
		r.Received, r.Exported = start, start
		if err := h.Add(&records.Batch{Records: []records.Record{r}}, []records.Verdict{records.Keep}, []Judgment{{Flow: 1}}); err != nil {
			t.Fatal(err)
		}
		for _, step := range c.steps {
			if err := h.Advance(start + int64(step)); err != nil {
				t.Fatal(err)
			}
		}
		if emitted != c.emitted {
			t.Errorf("%v: %d emitted, want %d", c.steps, emitted, c.emitted)
		}
	}
}
