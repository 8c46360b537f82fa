//go:build linux && !race

package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestPeakMemory wants memory that does not depend on the size of the input: that of
// the filter, and at most 64 MiB.
func TestPeakMemory(t *testing.T) {
	sizes := []int64{250_000, 2_500_000} // packets: 20 and 200 MB
	if testing.Short() {
		sizes = sizes[:1]
	}
	for _, packets := range sizes {
		in := generated(t, packets)
		checkPeak(t, "dedup", "--workers", "1", in)
		for _, ending := range []string{"", ".gz", ".zst", ".lz4"} {
			out := filepath.Join(t.TempDir(), "out.pcap"+ending)
			checkPeak(t, "dedup", "--workers", "8", in, "-w", out)
			checkPeak(t, "dedup", "--workers", "8", out)
		}
	}
}

// checkPeak runs a command on 8 processors.
func checkPeak(t *testing.T, args ...string) {
	t.Helper()
	peak := filepath.Join(t.TempDir(), "status")
	cmd := program(t, append(args, "--json")...)
	cmd.Env = append(cmd.Env, "GOMAXPROCS=8", peakFile+"="+peak)
	stdout, err := cmd.Output()
	if err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	var r dedupResult
	if err := json.Unmarshal(stdout, &r); err != nil {
		t.Fatalf("%q: %v in %q", args, err, stdout)
	}
	if got := vmPeak(t, peak) - r.MemoryBytes; got > 64<<20 {
		t.Errorf("%q took %d KiB beside its filter", args, got>>10)
	}
}

// vmPeak returns the peak of the resident set in bytes.
func vmPeak(t *testing.T, status string) int64 {
	t.Helper()
	text, err := os.ReadFile(status)
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "VmHWM:")
	fields := strings.Fields(after)
	if len(fields) == 0 {
		t.Fatalf("no VmHWM in %s", text)
	}
	n, err := strconv.ParseInt(fields[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n << 10
}
