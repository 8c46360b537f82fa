// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestLiveLearn lets a run find out three times what to remove: copies on another VLAN,
// nothing, and copies again. No packet is lost when it changes its mind.
func TestLiveLearn(t *testing.T) {
	t.Parallel()
	lab(t)
	pair(t, "left", "right")
	// What is sent during an inspection may come too late for it on a busy machine. A longer
	// inspection has it.
	const shortest, longest = 700 * time.Millisecond, 20 * time.Second
	for span := shortest; ; span *= 3 {
		err := learnThrice(t, span)
		if err == nil {
			return
		}
		if span > longest {
			t.Fatal(err)
		}
		t.Logf("with %s: %v", span, err)
	}
}

// learnThrice is one try. The error says what differs if packets come too late.
func learnThrice(t *testing.T, span time.Duration) error {
	t.Helper()
	kept := filepath.Join(t.TempDir(), "kept.pcapng")
	const n = 200
	r := startLive(t, "-i", "left", "-w", kept, "--json", "--learn", span.String(), "--learn-every", (2 * span).String())
	next := uint16(0)
	// want are the packets that are sent. The first of two stays in any case, and a copy that
	// should go may stay if it was sent late.
	type sent struct {
		text        string
		first, goes bool
	}
	var want []sent
	// sends sends packets, each twice if they are copied.
	sends := func(copied, removed bool) {
		var frames [][]byte
		for range n {
			f := liveFrame{id: next, src: byte(next % 7), ttl: 64, vlan: 10}
			next++
			frames = append(frames, f.bytes())
			want = append(want, sent{string(f.bytes()), true, false})
			if !copied {
				continue
			}
			f.vlan, f.ttl = 20, 63
			frames = append(frames, f.bytes())
			want = append(want, sent{string(f.bytes()), false, removed})
		}
		sendBytes(t, "right", frames...)
	}
	var learned []string
	for _, found := range []bool{true, false, true} {
		r.Event("inspecting packets")
		sends(found, false)
		learned = append(learned, r.Event(" learned "))
		sends(true, found)
	}
	s := r.finish()
	late, err := uint64(0), error(nil)
	got := framesOf(t, kept)
	for i := range want {
		switch {
		case len(got) > 0 && got[0] == want[i].text:
			got = got[1:]
			if want[i].goes {
				late++
			}
		case want[i].first:
			t.Fatalf("packet %d is missing", i)
		case !want[i].goes:
			err = errors.Join(err, fmt.Errorf("packet %d is missing", i))
		}
	}
	if len(got) > 0 || s.PacketsIn != uint64(len(want)) {
		t.Fatalf("%d packets are left: %+v", len(got), s)
	}
	for i, verdict := range []string{"nearly every packet twice", "no copies", "nearly every packet twice"} {
		if !strings.Contains(learned[i], verdict) {
			err = errors.Join(err, fmt.Errorf("no %q in %s", verdict, learned[i]))
		}
	}
	if s.Learned.Decisions != 3 || s.Learned.Passed != 2*n+2*n+2*n || !s.Learned.Dedup || s.Learned.Identity != "l3" {
		err = errors.Join(err, fmt.Errorf("%+v", s))
	}
	if len(s.Matrix) != 1 || s.Matrix[0].First != "left VLAN 10" || s.Matrix[0].Copy != "left VLAN 20" || s.Matrix[0].Count != s.Reasons["sampled"] {
		err = errors.Join(err, fmt.Errorf("matrix %+v of %v", s.Matrix, s.Reasons))
	}
	if late > n/2 || s.Duplicates != 2*n-late {
		err = errors.Join(err, fmt.Errorf("%d copies were removed, %d kept since they were late", s.Duplicates, late))
	}
	return err
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
