// SPDX-License-Identifier: Apache-2.0

package dedup_test

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

func TestMain(m *testing.M) { clitest.Main(m, nil) }

func TestScripts(t *testing.T) { clitest.Scripts(t) }

// TestTruth checks that dedup removes exactly the second sightings from the bundled
// captures, and keeps everything else unchanged.
func TestTruth(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob(clitest.Bundled("*.truth.json"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no truth: %v", err)
	}
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) {
			var want clitest.Truth
			data := clitest.ReadFile(t, name)
			if err := json.Unmarshal(data, &want); err != nil {
				t.Fatal(err)
			}
			for _, method := range []string{"timed", "exact"} {
				checkTruth(t, &want, method)
			}
		})
	}
}

func checkTruth(t *testing.T, want *clitest.Truth, method string) {
	t.Helper()
	kept, copies := filepath.Join(t.TempDir(), "kept"), filepath.Join(t.TempDir(), "copies")
	args := []string{"--method", method, "--keep", "first", "--prefer", "first", "-w", kept, "--duplicates", copies}
	inputs := want.Inputs()
	r := clitest.RunDedup(t, cli.ExitDone, slices.Concat(args, want.Flags(), inputs)...)
	if r.PacketsIn != want.Packets || r.Duplicates != want.Duplicates || r.EvictedLive != 0 {
		t.Errorf("%s: %d packets, %d duplicates, %d forgotten; want %d and %d",
			method, r.PacketsIn, r.Duplicates, r.EvictedLive, want.Packets, want.Duplicates)
	}
	all := clitest.ReadAll(t, inputs...)
	removed := map[int]bool{}
	for _, i := range want.Removed {
		removed[i] = true
	}
	var wantKept, wantCopies []clitest.Record
	for i, p := range all {
		if removed[i] {
			wantCopies = append(wantCopies, p)
		} else {
			wantKept = append(wantKept, p)
		}
	}
	clitest.CompareRecords(t, method+": kept", clitest.ReadAll(t, kept), wantKept)
	clitest.CompareRecords(t, method+": copies", clitest.ReadAll(t, copies), wantCopies)
}
