// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestProgressLine expects the time that is left once the speed has settled, where there is an end.
func TestProgressLine(t *testing.T) {
	for _, c := range []struct {
		done, total int64
		packets     uint64
		latest      int64
		took        time.Duration
		want        string
	}{
		{1 << 20, 4 << 20, 1234, 1 << 20, settled - 1, "1.0 MiB of 4.0 MiB (25 %), 1,234 packets"},
		{1 << 20, 4 << 20, 1234, 1 << 20, 4 * time.Second, "1.0 MiB of 4.0 MiB (25 %), 1,234 packets, 256 KiB/s, 12s left"},
		{1 << 20, 0, 0, 1 << 20, 4 * time.Second, "1.0 MiB, 256 KiB/s"},
		{4 << 20, 4 << 20, 5, 3 << 20, 4 * time.Second, "4.0 MiB of 4.0 MiB (100 %), 5 packets, 768 KiB/s"},
		{5, 4, 5, 0, time.Hour, "5 B of 4 B (125 %), 5 packets"}, // a file that grows
	} {
		if got := progressLine(c.done, c.total, c.packets, c.latest, c.took); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// TestProgressClears expects an empty line before a warning and behind the end.
func TestProgressClears(t *testing.T) {
	var out strings.Builder
	e := &Env{Stderr: &out}
	p := &Progress{mu: &e.mu, out: &out}
	e.clearProgress = p.clear
	p.Update(1, 2, 3)
	e.Warn(errors.New("damage"))
	p.Close()
	p.Close()
	if got, want := out.String(), clearLine+"1 B of 2 B (50 %), 3 packets"+clearLine+"flowdedup: warning: damage\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestWarningsBesideProgress warns on one goroutine while another draws the progress
// line, for the race detector.
func TestWarningsBesideProgress(t *testing.T) {
	e := &Env{Stderr: io.Discard}
	p := &Progress{mu: &e.mu, out: io.Discard}
	e.clearProgress = p.clear
	var wg sync.WaitGroup
	wg.Go(func() {
		for range maxWarnings + 1 {
			e.Warn(errors.New("damage"))
		}
	})
	for i := range int64(100) {
		p.next = time.Time{}
		p.Update(i, 100, uint64(i))
	}
	wg.Wait()
	p.Close()
	e.Report(errors.New("after the line is gone"))
}
