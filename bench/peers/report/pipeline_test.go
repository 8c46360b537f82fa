// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const commands = `pkg: github.com/flowdedup/flowdedup/bench/pipeline
place: /dev/shm
lowest-peak: 3.0 MiB
traffic: Small frames
command: cat $IN > /dev/null
BenchmarkPipeline/capture=small/job=read/command=cat 1 10 ns/packet 1e+08 packets/s 0.1 wall-s 0.09 cpu-s 3.0 peak-MiB 10000000 packets 820 MB
BenchmarkPipeline/capture=small/job=read/command=cat 1 10 ns/packet 1e+08 packets/s 0.1 wall-s 0.09 cpu-s 3.0 peak-MiB 10000000 packets 820 MB
BenchmarkPipeline/capture=small/job=read/command=cat 1 90 ns/packet 1e+08 packets/s 0.1 wall-s 0.09 cpu-s 3.0 peak-MiB 10000000 packets 820 MB
command: cp $IN out/copy
BenchmarkPipeline/capture=small/job=read/command=cp 1 20 ns/packet 5e+07 packets/s 0.2 wall-s 0.19 cpu-s 3.0 peak-MiB 10000000 packets 820 MB
command: ours $IN
BenchmarkPipeline/capture=small/job=distinct/command=ours 1 50 ns/packet 2e+07 packets/s 0.5 wall-s 0.7 cpu-s 20 peak-MiB 10000000 packets 820 MB
command: theirs $IN | wc
BenchmarkPipeline/capture=small/job=distinct/command=theirs 1 20000 ns/packet 50000 packets/s 4 wall-s 4.1 cpu-s 700 peak-MiB 200000 packets 16 MB
command: ours $IN
BenchmarkInput/capture=small/command=ours/bytes=10000000 1 60 ns/packet 1 packets/s 1 wall-s 1 cpu-s 20 peak-MiB 1000 packets 10 MB
BenchmarkInput/capture=small/command=ours/bytes=100000000 1 55 ns/packet 1 packets/s 1 wall-s 1 cpu-s 21 peak-MiB 10000 packets 100 MB
`

// TestPipeline looks for the tables that the results above must give.
func TestPipeline(t *testing.T) {
	charts := filepath.Join(t.TempDir(), "charts")
	page := addTo(t, filepath.Join(t.TempDir(), "out.md"), charts, commands)
	for _, want := range []string{
		"`$IN` is a capture in /dev/shm",
		"medians of 3", "less than 3.0 MiB does not show",
		"#### Small frames\n\n10,000,000 packets, 820 MB.\n",
		"| read | `cat $IN > /dev/null` | 10,000,000 | 100 | 0.10 | 0.09 | 3.00 | 1.00 | 0.50 | 1.00 |\n" +
			"|  | `cp $IN out/copy` | 10,000,000 | 50.0 | 0.20 | 0.19 | 3.00 | 2.00 | 1.00 | 2.00 |\n" +
			"| distinct | `ours $IN` | 10,000,000 | 20.0 | 0.50 | 0.70 | 20.0 | 5.00 | 2.50 | 1.00 |\n" +
			"|  | `theirs $IN \\| wc` | 200,000 | 0.05 | 4.00 | 4.10 | 700 | 2000 | 1000 | 400 |\n",
		"| traffic | command | 10.0 MB | 100 MB |\n|---|---:|---:|---:|\n| Small frames | `ours $IN` | 60.0 (20.0) | 55.0 (21.0) |\n",
		"(charts/input-some-cpu-model-1.svg)",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("missing:\n%s\nin:\n%s", want, page)
		}
	}
	svg, err := os.ReadFile(filepath.Join(charts, "input-some-cpu-model-1.svg"))
	if err != nil || !strings.Contains(string(svg), "ours, small") {
		t.Errorf("chart of %d bytes without its line (%v)", len(svg), err)
	}
}
