package cli

import (
	"path/filepath"
	"testing"
)

// TestLiveLearn lets a run find out three times what to remove: copies on another VLAN,
// nothing, and copies again. No packet is lost when it changes its mind.
func TestLiveLearn(t *testing.T) {
	lab(t)
	pair(t, "left", "right")
	kept := filepath.Join(t.TempDir(), "kept.pcapng")
	const n = 200
	r := startLive(t, "-i", "left", "-w", kept, "--json", "--learn", "700ms", "--learn-every", "1300ms")
	next := uint16(0)
	// want are the packets that are sent. A copy may be kept if it was sent late.
	type sent struct {
		text string
		copy bool
	}
	var want []sent
	// sends sends packets, each twice if they are copied, and notes what must be kept.
	sends := func(copied, removed bool) {
		var frames [][]byte
		for range n {
			f := liveFrame{id: next, src: byte(next % 7), ttl: 64, vlan: 10}
			next++
			frames = append(frames, f.bytes())
			want = append(want, sent{string(f.bytes()), false})
			if !copied {
				continue
			}
			f.vlan, f.ttl = 20, 63
			frames = append(frames, f.bytes())
			want = append(want, sent{string(f.bytes()), removed})
		}
		sendBytes(t, "right", frames...)
	}
	r.event("inspecting packets")
	sends(true, false)
	r.event("nearly every packet twice")
	sends(true, true)

	r.event("inspecting packets")
	sends(false, false)
	r.event("no copies")
	sends(true, false)

	r.event("inspecting packets")
	sends(true, false)
	r.event("nearly every packet twice")
	sends(true, true)

	s := r.stopAfter(uint64(11 * n))
	if s.Learned.Decisions != 3 || s.Learned.Passed != 2*n+2*n+2*n || !s.Learned.Dedup || s.Learned.Identity != "l3" {
		t.Errorf("%+v", s)
	}
	if len(s.Matrix) != 1 || s.Matrix[0].First != "left VLAN 10" || s.Matrix[0].Copy != "left VLAN 20" || s.Matrix[0].Count != s.Reasons["sampled"] {
		t.Errorf("matrix %+v of %v", s.Matrix, s.Reasons)
	}
	got, late := framesOf(t, kept), uint64(0)
	for i := range want {
		switch {
		case len(got) > 0 && got[0] == want[i].text:
			got = got[1:]
			if want[i].copy {
				late++
			}
		case !want[i].copy:
			t.Fatalf("packet %d is missing", i)
		}
	}
	if len(got) > 0 || late > n/2 || s.Duplicates != 2*n-late {
		t.Errorf("%d copies were removed, %d kept since they were late, and %d packets are left", s.Duplicates, late, len(got))
	}
}

// TestLearnUsage refuses what --learn chooses itself.
func TestLearnUsage(t *testing.T) {
	for _, args := range [][]string{
		{"--learn", "1m", "--window", "1ms"}, {"--learn", "1m", "--identity", "l3"}, {"--learn", "1m", "--across"},
		{"--learn", "1m", "--state", "x"}, {"--learn-every", "1h"}, {"--learn", "0"}, {"--learn", "1m", "--method", "exact"},
	} {
		if _, errs, code := run(append([]string{"live", "-i", "lo"}, args...)...); code != exitUsage || errs == "" {
			t.Errorf("%q: exit code %d, %s", args, code, errs)
		}
	}
}
