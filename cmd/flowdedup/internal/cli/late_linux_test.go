// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// lateResult is the part of a summary about packets whose time went back.
type lateResult struct {
	Packets    uint64 `json:"packets_in"`
	Duplicates uint64 `json:"duplicates"`
	Late       uint64 `json:"late_forgotten"`
}

func runLate(t *testing.T, args ...string) (r lateResult, stderr string) {
	t.Helper()
	out, errs, code := clitest.Run(append([]string{"dedup", "--json"}, args...)...)
	if err := json.Unmarshal([]byte(out), &r); err != nil || code != cli.ExitDone {
		t.Fatalf("%q: exit code %d, %v, stdout %q, stderr %q", args, code, err, out, errs)
	}
	return r, errs
}

// TestCapturesBehindEachOther reads files that contain the same capture twice, as cat and
// mergecap -a make them. A filter with enough memory finds as much as the exact one; a
// small one warns that it did not.
func TestCapturesBehindEachOther(t *testing.T) {
	t.Parallel()
	const header = 24 // of a pcap file
	for _, c := range []struct {
		in, small string
		header    int
	}{{clitest.Bundled("router-vlan.pcapng"), "", 0}, {generated(t, 30_000), "64KiB", header}} {
		one := clitest.ReadFile(t, c.in)
		both := filepath.Join(t.TempDir(), "both"+filepath.Ext(c.in))
		if err := os.WriteFile(both, append(one, one[c.header:]...), 0o600); err != nil {
			t.Fatal(err)
		}
		alone, _ := runLate(t, c.in, "--memory", "64MiB")
		want, errs := runLate(t, both, "--memory", "64MiB")
		if want.Duplicates < alone.Duplicates+alone.Packets/2 || want.Late != 0 || errs != "" {
			t.Fatalf("much memory: %+v, alone %+v, %q", want, alone, errs)
		}
		if r, errs := runLate(t, both, "--method", "exact"); r != want || errs != "" {
			t.Errorf("exact: %+v, want %+v, %q", r, want, errs)
		}
		if c.small != "" {
			checkWarned(t, both, c.small, alone.Packets, want.Duplicates)
		}
	}
}

// checkWarned reads such a file with too little memory.
func checkWarned(t *testing.T, in, memory string, packets, duplicates uint64) {
	t.Helper()
	r, errs := runLate(t, in, "--memory", memory)
	if missed := duplicates - r.Duplicates; missed == 0 || r.Late > missed+missed/10 || r.Late < missed-missed/10 || strings.Count(errs, "\n") != 1 {
		t.Errorf("little memory: %+v, %d copies in all, %q", r, duplicates, errs)
	}
	for _, part := range []string{
		"time goes back by about ", fmt.Sprintf("s at packet %d, and %d packets", packets+1, r.Late),
		"separate inputs", "--memory ", "--method exact",
	} {
		if !strings.Contains(errs, part) {
			t.Errorf("no %q in %q", part, errs)
		}
	}
	if out, _, _ := clitest.Run("dedup", in, "--memory", memory); !strings.Contains(out, "older than the filter remembers") {
		t.Errorf("the summary tells nothing of it: %s", out)
	}
}
