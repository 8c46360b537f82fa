// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOptions writes the section about options before that about flow records, and leaves all others as
// they are.
func TestOptions(t *testing.T) {
	const results = `pkg: github.com/flowdedup/flowdedup/bench/pipeline
place: /dev/shm
load: 0.50
traffic: Frames of 64 bytes
command: flowdedup dedup $IN -q
BenchmarkPaths/job=dedup/command=plain 1 0.1 cpu-s 18 peak-MiB 1000000 packets 82 MB
command: flowdedup inspect $IN -q
BenchmarkPaths/job=dedup/command=inspect 1 0.25 cpu-s 32 peak-MiB 1000000 packets 82 MB
`
	const before, flows = contestHeading + "\nWho loses what.\n\n## Other CPU\n\nOld.\n", "\n## Flow records\n\nOld.\n"
	out := filepath.Join(t.TempDir(), "out.md")
	if err := os.WriteFile(out, []byte(title+before+flows), 0o666); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		page := addTo(t, out, "", results)
		section, ok := strings.CutPrefix(page, title+before+"\n## Options\n")
		section, last := strings.CutSuffix(section, flows)
		if !ok || !last || strings.Contains(section, "\n## ") {
			t.Errorf("not the sections before, options once and flow records in:\n%s", page)
		}
		if want := "### dedup\n\n| command | CPU ns a packet | times | peak MiB |\n|---|---:|---:|---:|\n| `flowdedup dedup $IN -q` | 100 | 1.00 | 18.0 |\n| `flowdedup inspect $IN -q` | 250 | 2.50 | 32.0 |\n"; !strings.Contains(section, want) {
			t.Errorf("missing:\n%s\nin:\n%s", want, section)
		}
	}
}
