// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"path/filepath"
	"testing"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// TestLiveSave merges the files of a run, and compares them with its reports.
func TestLiveSave(t *testing.T) {
	t.Parallel()
	lab(t, "left right")
	reports, folder := filepath.Join(t.TempDir(), "counts.jsonl"), t.TempDir()
	r := startLive(t, "-i", "left", "--of", "src,flow", "--every", "1s", "--slide", "0", "--reports", reports,
		"--save", folder, "--sensor", "roof", "--key", clitest.Key, "--json", "--window", "5s")
	sendTo(t, "right", burst(100, func(*liveFrame) {})...)
	r.Event("window closed")
	sendTo(t, "right", liveFrame{ID: 5000, Src: 9, TTL: 64})
	r.finish()
	want := map[string]clitest.DistinctRow{}
	for _, row := range rowsOf[clitest.DistinctRow](t, reports) {
		want[row.Name()] = row
	}
	files, err := filepath.Glob(filepath.Join(folder, "roof-*Z.counts"))
	if err != nil || len(files) < 2 || len(files) > 4 {
		t.Fatalf("files %q, %v", files, err)
	}
	rows := clitest.RunDistinct(t, append([]string{"--merge"}, files...)...)
	if len(rows) != len(want) {
		t.Errorf("%d rows, want %d", len(rows), len(want))
	}
	for _, row := range rows {
		if w := want[row.Name()]; row.Distinct != w.Distinct || row.Packets != w.Packets || row.Sensors != "1/1" {
			t.Errorf("%+v, want %+v", row, w)
		}
	}
}
