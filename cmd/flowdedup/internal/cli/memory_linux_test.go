// SPDX-License-Identifier: Apache-2.0

//go:build linux && !race

package cli_test

import (
	"encoding/json"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/dedup"
)

// ownMemory is the memory that a run may use besides its filter and up to 16 MiB of its
// program: 64 MiB together.
const ownMemory = 48 << 20

// tablesOfTests is the memory of tables that only the test program has, since it imports
// gopacket: two of 2.5 MiB for names of types, and four of 512 KiB.
const tablesOfTests = 7 << 20

// TestPeakMemory checks that memory does not depend on the size of the input.
func TestPeakMemory(t *testing.T) {
	packets := int64(1_250_000) // 100 MB, twice what may be used
	if testing.Short() {
		packets = 250_000
	}
	in := generated(t, packets)
	checkPeak(t, "dedup", "--workers", "1", in)
	for _, ending := range []string{"", ".gz", ".zst", ".lz4"} {
		out := filepath.Join(t.TempDir(), "out.pcap"+ending)
		checkPeak(t, "dedup", "--workers", "8", in, "-w", out)
		checkPeak(t, "dedup", "--workers", "8", out)
	}
}

// checkPeak runs a command on 8 processors.
func checkPeak(t *testing.T, args ...string) {
	t.Helper()
	peak := filepath.Join(t.TempDir(), "status")
	cmd := clitest.Program(t, append(args, "--json")...)
	cmd.Env = append(cmd.Env, "GOMAXPROCS=8", peakFile+"="+peak)
	stdout, err := cmd.Output()
	if err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	var r dedup.Summary
	if err := json.Unmarshal(stdout, &r); err != nil {
		t.Fatalf("%q: %v in %q", args, err, stdout)
	}
	status := clitest.ReadFile(t, peak)
	// The test program is larger than the program.
	own := statusBytes(t, string(status), "VmHWM:") - statusBytes(t, string(status), "RssFile:") - int64(r.MemoryBytes) - tablesOfTests
	t.Logf("%d MiB: %q", own>>20, args)
	if own > ownMemory {
		t.Errorf("%q took %d KiB beside its filter and itself", args, own>>10)
	}
}

// statusBytes returns a size from /proc/self/status.
func statusBytes(t *testing.T, status, key string) int64 {
	t.Helper()
	_, after, _ := strings.Cut(status, key)
	fields := strings.Fields(after)
	if len(fields) == 0 {
		t.Fatalf("no %s in %s", key, status)
	}
	n, err := strconv.ParseInt(fields[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n << 10
}
