// SPDX-License-Identifier: Apache-2.0

package match

import (
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/capture/records"
	"github.com/flowdedup/flowdedup/capture/records/export"
	"github.com/flowdedup/flowdedup/capture/records/internal/exporttest"
)

// TestTemplateLate has two routers report the same flows, the first router at first without its
// template. Records that waited have their time of arrival, and are kept once with the rest.
func TestTemplateLate(t *testing.T) {
	const messages, pause = 20, int64(3 * time.Second)
	template := exporttest.Set(0, exporttest.Template(256, exporttest.UsualTemplate...))
	for _, late := range []int{0, 1, 7, messages - 1} {
		var all []exporttest.Datagram
		for n := range messages {
			one := exporttest.Flows[0]
			one.SourcePort = uint16(1000 + n)
			for router, from := range []string{"192.0.2.1:1", "192.0.2.2:1"} {
				sets := exporttest.Set(256, exporttest.UsualRecord(one))
				if router == 0 && n == late || router == 1 && n == 0 {
					sets = append(sets, template...)
				}
				seconds := 900 + uint32(int64(n)*pause/int64(time.Second))
				all = append(all, exporttest.Datagram{From: from, At: int64(seconds)*int64(time.Second) + int64(router),
					Data: append(exporttest.Head9(1, 6000, seconds, uint32(n), 1), sets...)})
			}
		}
		r := export.NewReader(&exporttest.Wire{Datagrams: all, AtOnce: 3})
		j := newJudge(t, Config{Memory: 1 << 16})
		reported := map[uint16]int{}
		kept := map[uint16]uint8{} // the router's last byte
		for _, b := range exporttest.ReadAll(t, r) {
			verdicts, _ := j.Judge(&b)
			for i := range b.Records {
				one := &b.Records[i]
				router := one.Point.Exporter.As4()[3]
				if came := all[2*int(one.SourcePort-1000)+int(router)-1].At; one.Received != came {
					t.Errorf("a record of %d came at %d", came, one.Received)
				}
				if reported[one.SourcePort]++; verdicts[i] == records.Keep {
					kept[one.SourcePort] = router
				}
			}
		}
		for n := range messages {
			port, first := uint16(1000+n), uint8(1)
			if n < late {
				first = 2 // it could be read first
			}
			if reported[port] != 2 || kept[port] != first {
				t.Errorf("template with message %d: flow %d told of %d times, kept of router %d", late, n, reported[port], kept[port])
			}
		}
		if c := j.Counts(); c.Copies != messages || c.Unchecked != 0 || r.Counts().Waiting != 0 {
			t.Errorf("template with message %d: %+v, %+v", late, c, r.Counts())
		}
	}
}

// TestBurst has two exporters send the same flows in a burst of four messages. The first exporter is descheduled
// before the last, which has the uptime of all, and a second two seconds later, as softflowd
// stamped them: its records are copies nevertheless.
func TestBurst(t *testing.T) {
	const begin, second = 1795831011, int64(time.Second)
	template := exporttest.Set(0, exporttest.Template(256, exporttest.UsualTemplate...))
	var all []exporttest.Datagram
	for n := range 4 {
		one := exporttest.Flows[1] // of a moment
		one.SourcePort = uint16(1000 + n)
		for router, from := range []string{"192.0.2.1:1", "192.0.2.2:1"} {
			seconds, at := uint32(begin), begin*second+int64(115*time.Millisecond)
			if router == 0 && n == 3 {
				seconds, at = begin+2, begin*second+int64(2414*time.Millisecond)
			}
			all = append(all, exporttest.Datagram{From: from, At: at,
				Data: append(append(exporttest.Head9(2, 6000, seconds, uint32(n), 1), template...), exporttest.Set(256, exporttest.UsualRecord(one))...)})
		}
	}
	j := newJudge(t, Config{Memory: 1 << 16})
	for _, b := range exporttest.ReadAll(t, export.NewReader(&exporttest.Wire{Datagrams: all, AtOnce: 3})) {
		j.Judge(&b)
	}
	if c := j.Counts(); c.Records != 8 || c.Copies != 4 {
		t.Errorf("%+v", c)
	}
}

// TestBurstRestart has two exporters start again, at different times, with the uptime that they had:
// softflowd that reads a capture has none. What they send then has the time of the new process, so
// that their records are copies.
func TestBurstRestart(t *testing.T) {
	const begin, second = 1795831011, int64(time.Second)
	var all []exporttest.Datagram
	for _, c := range []struct {
		from     string
		at       time.Duration
		sequence uint32
		ports    []uint16
	}{
		{"192.0.2.1:1", 0, 0, []uint16{1000, 1001}},
		{"192.0.2.1:1", 0, 2, []uint16{1002}},
		{"192.0.2.2:1", 300 * time.Millisecond, 0, []uint16{1000, 1001}},
		{"192.0.2.2:1", 300 * time.Millisecond, 2, []uint16{1002}},
		{"192.0.2.1:1", 4 * time.Second, 0, []uint16{1003}},
		{"192.0.2.2:1", 4500 * time.Millisecond, 0, []uint16{1003}},
	} {
		var flows []exporttest.Flow
		for _, port := range c.ports {
			one := exporttest.Flows[1] // of a moment
			one.SourcePort = port
			flows = append(flows, one)
		}
		at := begin*second + int64(c.at)
		all = append(all, exporttest.Datagram{From: c.from, At: at + int64(time.Millisecond), Data: exporttest.V5(6000, uint32(at/second), uint32(at%second), c.sequence, flows...)})
	}
	j := newJudge(t, Config{Memory: 1 << 16})
	var times []int64
	for _, b := range exporttest.ReadAll(t, export.NewReader(&exporttest.Wire{Datagrams: all, AtOnce: 3})) {
		for i := range b.Records {
			times = append(times, b.Records[i].Start)
		}
		j.Judge(&b)
	}
	if c := j.Counts(); c.Records != 8 || c.Copies != 4 {
		t.Errorf("%+v", c)
	}
	if got := times[6] - times[0]; got != 4*second {
		t.Errorf("the new process sends records of %v later, want 4s", time.Duration(got))
	}
}
