// SPDX-License-Identifier: Apache-2.0

package flows_test

import (
	"encoding/binary"
	"fmt"
	"maps"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// sentAt is a message that an exporter sent at a time, in microseconds since 1970.
type sentAt struct {
	from string
	at   int64
	data []byte
}

// pcapOf returns a capture of messages (LINKTYPE_RAW).
func pcapOf(all ...sentAt) []byte {
	be, p := binary.BigEndian, clitest.NewPcap(101)
	for _, m := range all {
		ip := be.AppendUint16([]byte{0x45, 0}, uint16(28+len(m.data)))
		ip = append(append(ip, 0, 0, 0, 0, 64, 17, 0, 0), netip.MustParseAddr(m.from).AsSlice()...)
		ip = append(ip, 192, 0, 2, 9)
		for _, n := range []uint16{40000, 2055, uint16(8 + len(m.data)), 0} {
			ip = be.AppendUint16(ip, n)
		}
		p.Add(m.at*1000, append(ip, m.data...))
	}
	return p
}

// TestFlowsArchive reads captures of archives that were sent again, whatever time their messages
// have: flows count at their own time, and are matched by it.
func TestFlowsArchive(t *testing.T) {
	t.Parallel()
	const then, now = int64(second2023), int64(1795898200)
	// messages of 10 flows each, the first of which end an hour apart, in no order.
	messages := func(exporter string, came int64, header func(i int64) int64) (all []sentAt) {
		for i := range int64(10) {
			var flows []flow
			for k := range 10 {
				start := uint64(then+(i*7%10)*360) * 1000
				flows = append(flows, flow{fmt.Sprintf("10.0.%d.%d:1000", i, k), "10.1.0.1:443", 50, 1, 0, 0, start, start + 900})
			}
			all = append(all, sentAt{exporter, came*1e6 + i*1000, ipfixOf(1, uint32(10*i), uint32(header(i)), false, flows...)})
		}
		return all
	}
	fixed := func(at int64) func(int64) int64 { return func(int64) int64 { return at } }
	a, b := "192.0.2.1", "192.0.2.2"
	hours := map[string]uint64{"2023-11-14T22": 80, "2023-11-14T23": 20}
	for name, c := range map[string]struct {
		all    []sentAt
		warned bool
		copies uint64
	}{
		"with a header of now":           {messages(a, now, fixed(now)), true, 0},
		"with a header of then":          {messages(a, now, func(i int64) int64 { return then + (i*7%10)*360 + 2 }), true, 0},
		"with a header of an hour later": {messages(a, now, fixed(then+3600)), true, 0},
		"three hours later":              {messages(a, then+3*3600, fixed(then+3*3600)), false, 0},
		"twice, an hour apart":           {append(messages(a, now, fixed(then+4000)), messages(b, now+3600, fixed(now+3600))...), true, 100},
		"with an exporter of now": {append(append(messages(a, now, fixed(now)), sentAt{b, (now + 1) * 1e6, ipfixOf(1, 0, uint32(now+1), false,
			flow{"10.2.0.1:1", "10.1.0.1:443", 50, 1, 0, 0, uint64(now) * 1000, uint64(now)*1000 + 900})}), messages(b, now+2, fixed(now+2))...), true, 100},
	} {
		t.Run(name, func(t *testing.T) {
			in := clitest.WriteInput(t, filepath.Join(t.TempDir(), "in.pcap"), pcapOf(c.all...))
			got := distinctOf(t, "src", in)
			delete(got, "2026-11-28T20") // of the exporter of now
			if !maps.Equal(got, hours) {
				t.Errorf("%v", got)
			}
			r, stderr := runFlows(t, cli.ExitDone, "--of", "src", "--reports", filepath.Join(t.TempDir(), "rows"), in)
			if strings.Contains(stderr, "archive was sent again") != c.warned || strings.Contains(stderr, "no window") || r.Copies != c.copies {
				t.Errorf("%+v: %s", r, stderr)
			}
		})
	}
	// A clock that nobody set is no archive, and neither is one that is hours off.
	unset := func(exporter string, base int64) []sentAt {
		f := flow{"10.0.0.1:1", "10.1.0.1:443", 50, 1, 0, 0, uint64(base) * 1000, uint64(base)*1000 + 900}
		return []sentAt{{exporter, (then + 2) * 1e6, ipfixOf(1, 0, uint32(base+2), false, f)}}
	}
	for name, base := range map[string]int64{"1970": 1000, "an hour off": then + 3600, "23 hours off": then - 23*3600} {
		in := clitest.WriteInput(t, filepath.Join(t.TempDir(), "in.pcap"), pcapOf(append(unset(a, then), unset(b, base)...)...))
		if r, stderr := runFlows(t, cli.ExitDone, in); r.Copies != 1 || strings.Contains(stderr, "archive") {
			t.Errorf("%s: %+v %s", name, r, stderr)
		}
		if got := distinctOf(t, "src", in); name == "1970" && len(got) != 1 {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestFlowsLate warns if most records are in no window.
func TestFlowsLate(t *testing.T) {
	t.Parallel()
	ahead := uint64(second2023+86400*40) * 1000
	f := flow{"10.0.0.1:1", "10.1.0.1:443", 50, 1, 0, 0, ahead, ahead}
	in := clitest.WriteInput(t, filepath.Join(t.TempDir(), "in.pcap"), pcapOf(sentAt{"192.0.2.1", second2023 * 1e6, ipfixOf(1, 0, second2023, false, f)}))
	_, stderr := runFlows(t, cli.ExitDone, "--of", "src", "--reports", filepath.Join(t.TempDir(), "rows"), in)
	if !strings.Contains(stderr, "1 of 1 records are in no window of --of") {
		t.Error(stderr)
	}
}
