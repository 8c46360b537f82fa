// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"strings"
	"testing"
)

const receivers = `pkg: github.com/flowdedup/flowdedup/bench/live
command: ours -i right
processors: all
BenchmarkLive/sender=xdp/receiver=ours 1 3e+06 sent/s 1000000 sent 1000000 captured 0 dropped 0.1 cpu-s 1e+07 packets/cpu-s 2e+07 later-packets/cpu-s 80 peak-MiB 100000 repeats 100000 copies
BenchmarkLive/sender=xdp/receiver=ours 1 3e+06 sent/s 1000000 sent 990000 captured 10000 dropped 0.1 cpu-s 1e+07 packets/cpu-s 2e+07 later-packets/cpu-s 80 peak-MiB 100000 repeats 90000 copies
BenchmarkLive/sender=xdp/receiver=ours 1 3e+06 sent/s 1000000 sent 1000000 captured 0 dropped 0.1 cpu-s 1e+07 packets/cpu-s 2e+07 later-packets/cpu-s 80 peak-MiB 100000 repeats 100000 copies
command: theirs right
processors: one
BenchmarkLive/sender=xdp/receiver=theirs 1 2e+06 sent/s 1000000 sent 400000 captured 600000 dropped 0.5 cpu-s 8e+05 packets/cpu-s 2e+07 later-packets/cpu-s 8 peak-MiB 100000 repeats
command: ours --forward out
BenchmarkForward/load=500000/forwarder=ours 1 0.5 ms-median 1.5 ms-p99 2.5 ms-max 2500000 sent 2500000 captured 0 dropped 2250000 forwarded 1 cpu-s
command: ours --capture xdp
BenchmarkRate/rate=1500000/receiver=ours 1 1.4e+06 sent/s 2000000 sent 1900000 captured 100000 dropped 0.2 cpu-s 1.4 sender-cpu-s
BenchmarkRate/rate=0/receiver=ours 1 5e+06 sent/s 2000000 sent 2000000 captured 0 dropped 0.1 cpu-s 0.4 sender-cpu-s
pkg: github.com/flowdedup/flowdedup/capture/ring
BenchmarkLive/bytes=60/bare 1 2e+06 ns/op
`

// TestLive looks for the tables that the results above must give.
func TestLive(t *testing.T) {
	page := addTo(t, filepath.Join(t.TempDir(), "out.md"), "", receivers)
	for _, want := range []string{
		"medians of 1 to 3",
		"#### As fast as the kernel takes frames\n\n| command | processors |",
		"| `ours -i right` | all | 3.00 | 1,000,000 | 0 | 1.00 | 0 | 0.10 | 10.0 | 20.0 | 80.0 | 100 |\n" +
			"| `theirs right` | one | 2.00 | 1,000,000 | 60.0 | 60.0 | 600,000 | 0.50 | 0.80 | 20.0 | 8.00 | - |\n",
		"| 1.50 | `ours --capture xdp` | 1.40 | 5.00 | 5.00 | 100,000 | 100 | - |\n" +
			"| most | `ours --capture xdp` | 5.00 | 0 | 0 | 0 | 50.0 | 200 |\n",
		"| 500,000 | `ours --forward out` | 2,500,000 | 2,250,000 | 0.50 | 1.50 | 2.50 | 1.00 |\n",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("missing:\n%s\nin:\n%s", want, page)
		}
	}
}
