// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"path/filepath"
	"slices"
	"testing"
)

// TestLiveIntact keeps the copy whose checksum is not wrong, and goes on counting after a
// restart. All wait until the run ends.
func TestLiveIntact(t *testing.T) {
	t.Parallel()
	lab(t, "left right")
	dir := t.TempDir()
	for run := range 3 {
		out := filepath.Join(t.TempDir(), "out.pcap")
		flags := []string{"-i", "left", "-w", out, "--ignore", "l4-checksum", "--window", "1h", "--hold", "1h", "--state", filepath.Join(dir, "state"), "--json"}
		r := startLive(t, flags...)
		frame := liveFrame{ID: uint16(1 + run), Src: 1, TTL: 64}
		wrong := frame.Bytes()
		wrong[14+20+6] = 1
		frame.TTL--
		sendBytes(t, "right", wrong, frame.Bytes())
		s := r.finish()
		if got := framesOf(t, out); !slices.Equal(got, []string{string(frame.Bytes())}) || s.Duplicates != uint64(1+run) {
			t.Errorf("run %d: %q, %+v", run, got, s)
		}
		if s.ChecksumPreferred == nil || *s.ChecksumPreferred != 1+run || s.WholePreferred == nil {
			t.Errorf("run %d: %+v", run, s)
		}
	}
}
