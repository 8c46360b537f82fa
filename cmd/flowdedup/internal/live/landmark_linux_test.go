// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"errors"
	"io"
	"path/filepath"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/bench/lab/wait"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// TestLiveLandmark sends the same few packets until several windows have begun. Each window
// keeps each packet once, and removes only packets that it has kept.
func TestLiveLandmark(t *testing.T) {
	t.Parallel()
	clitest.Lab(t, "left right")
	kept, removed := filepath.Join(t.TempDir(), "kept.pcapng"), filepath.Join(t.TempDir(), "removed.pcapng")
	r := startLive(t, "-i", "left", "-w", kept, "--duplicates", removed, "--json", "--window", "landmark:100ms")
	const n, rounds = 20, 4
	frames := burst(n, func(*clitest.Frame) {})
	for range rounds {
		clitest.SendTo(t, "right", frames...)
		of := windowOf(time.Now().UnixNano())
		wait.Until(t, "the next window", func() bool { return windowOf(time.Now().UnixNano()) > of })
	}
	if s := r.finish(); s.PacketsIn != rounds*2*n || s.PacketsOut < rounds*n || s.Duplicates == 0 || s.PacketsIn != s.PacketsOut+s.Duplicates {
		t.Errorf("%+v", s)
	}
	first := map[string]map[int64]bool{}
	for _, p := range timedFrames(t, kept) {
		window := windowOf(p.time)
		if first[p.bytes] == nil {
			first[p.bytes] = map[int64]bool{}
		}
		if first[p.bytes][window] {
			t.Fatalf("the window of %d kept a packet twice", p.time)
		}
		first[p.bytes][window] = true
	}
	for _, p := range timedFrames(t, removed) {
		if !first[p.bytes][windowOf(p.time)] {
			t.Fatalf("a packet of %d was removed, which its window has not kept", p.time)
		}
	}
	if len(first) != n {
		t.Errorf("%d packets, want %d", len(first), n)
	}
}

// windowOf returns the landmark window of 100 ms that a time lies in.
func windowOf(t int64) int64 { return t / int64(100*time.Millisecond) }

// timedFrame is a packet of a file.
type timedFrame struct {
	bytes string
	time  int64
}

func timedFrames(t *testing.T, name string) (all []timedFrame) {
	t.Helper()
	src, err := pcapfile.Open(name, pcapfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	var b capture.Batch
	for {
		if err := src.Next(&b); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		for i := range b.Frames {
			all = append(all, timedFrame{string(b.Data(i)), b.Frames[i].Time})
		}
	}
}

// TestLiveLandmarkState ends a run within a window of packets: the next run goes on in it, and
// ends it where one run would. The table that verifies copies goes on, too.
func TestLiveLandmarkState(t *testing.T) {
	t.Parallel()
	clitest.Lab(t, "left right")
	args := []string{"-i", "left", "--state", filepath.Join(t.TempDir(), "state"), "--window", "landmark:n:100", "--memory", "1MiB", "--verify-copies", "64KiB", "--json"}
	var frames []clitest.Frame
	for i := range 60 {
		frames = append(frames, clitest.Frame{ID: uint16(i), TTL: 64})
	}
	for _, want := range []struct{ kept, copies uint64 }{
		{60, 0},
		{80, 40},   // 40 packets end the window, 20 are in the next one
		{120, 60},  // 40 are new in that window, 20 are copies
		{160, 80},  // 20 copies end it, 40 are new
		{180, 120}, // 40 copies, 20 new
	} {
		r := startLive(t, args...)
		clitest.SendTo(t, "right", frames...)
		if s := r.finish(); s.PacketsOut != want.kept || s.Duplicates != want.copies {
			t.Errorf("kept %d, copies %d, want %+v", s.PacketsOut, s.Duplicates, want)
		}
	}
}
