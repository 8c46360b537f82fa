// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFlows writes the section about flow records once, behind those of CPUs, which stay.
func TestFlows(t *testing.T) {
	const results = `pkg: github.com/flowdedup/flowdedup/bench/pipeline
place: /dev/shm
lowest-peak: 5.0 MiB
load: 0.50
traffic: NetFlow v5
command: flowdedup flows $IN -q
BenchmarkFlows/format=v5/job=count/command=flows 1 0.2 cpu-s 25 peak-MiB 1000000 packets 30 MB
command: goflow2 $IN
BenchmarkFlows/format=v5/job=count/command=goflow2 1 0.3 cpu-s 6 peak-MiB 1000000 packets 30 MB
command: nfcapd
BenchmarkFlows/format=v5/job=listen/command=nfcapd 1 0.1 cpu-s 6 peak-MiB 1000000 packets 30 MB
`
	out := filepath.Join(t.TempDir(), "out.md")
	cpus := contestHeading + "\nWho loses what.\n\n## Some CPU, model 1\n\nOld.\n\n## Other CPU\n\nOld.\n"
	if err := os.WriteFile(out, []byte(title+cpus), 0o666); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		page := addTo(t, out, "", results)
		if rest, ok := strings.CutPrefix(page, title+cpus); !ok || !strings.HasPrefix(rest, "\n## Flow records\n") || strings.Count(page, "## Flow records") != 1 {
			t.Errorf("not the pages before, and flow records once in:\n%s", page)
		}
		for _, want := range []string{
			"Made by `make bench SUITE=flows` with Some CPU, model 1, on 2026-11-27 from commit 01234567:", "each of 500,000 flows", "at a load of 0.50",
			"| read and count | `flowdedup flows $IN -q` | 200 | 0.20 | 1.00 | 25.0 |\n|  | `goflow2 $IN` | 300 | 0.30 | 1.50 | 6.00 |\n| receive | `nfcapd` | 100 | 0.10 | 1.00 | 6.00 |\n",
		} {
			if !strings.Contains(page, want) {
				t.Errorf("missing:\n%s\nin:\n%s", want, page)
			}
		}
	}
}
