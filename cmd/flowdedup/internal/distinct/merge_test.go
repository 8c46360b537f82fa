// SPDX-License-Identifier: Apache-2.0

package distinct_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// counted are the flags that sensors of these tests count with.
var counted = []string{"--key", clitest.Key, "--of", "src,flow,mac", "--every", "1s"}

// saveSensors saves what each capture has.
func saveSensors(t *testing.T, captures []string, more ...string) (files []string) {
	t.Helper()
	dir := t.TempDir()
	for i, in := range captures {
		file := filepath.Join(dir, fmt.Sprintf("s%d.counts", i))
		args := slices.Concat([]string{"distinct", "-q", in, "--save", file}, clitest.Overrule(counted, more))
		if _, errs, code := clitest.Run(args...); code != cli.ExitDone || errs != "" {
			t.Fatalf("%q: exit code %d, stderr %q", args, code, errs)
		}
		files = append(files, file)
	}
	return files
}

var sensorCaptures = []string{clitest.Bundled("router-in.pcap"), clitest.Bundled("router-out.pcap"), clitest.Bundled("router-plain.pcapng")}

// TestMergeSketches merges a sensor whose counters were limited with one that has sets:
// the truth lies within the bounds, and the row says how it was counted.
func TestMergeSketches(t *testing.T) {
	files := saveSensors(t, sensorCaptures[:1])
	dir := t.TempDir()
	limited := filepath.Join(dir, "limited.counts")
	args := slices.Concat([]string{"distinct", sensorCaptures[1], "--save", limited, "--set-limit", "2", "--sensor", "roof"}, counted)
	if _, errs, code := clitest.Run(args...); code != cli.ExitDone || !strings.Contains(errs, "estimates by sketches") {
		t.Fatalf("exit code %d, stderr %q", code, errs)
	}
	want := map[string]clitest.DistinctRow{}
	for _, row := range clitest.RunDistinct(t, slices.Concat(sensorCaptures[:2], counted)...) {
		want[row.Name()] = row
	}
	methods := map[string]int{}
	for _, row := range clitest.RunDistinct(t, "--merge", files[0], limited) {
		methods[row.Method]++
		if w := want[row.Name()]; row.Low > w.Distinct || row.High < w.Distinct || row.Packets != w.Packets {
			t.Errorf("%+v, want %+v", row, w)
		}
		if slices.Contains(row.Missing, "limited") {
			t.Errorf("the sensor has the name of its file: %+v", row)
		}
	}
	if len(methods) != 2 {
		t.Errorf("methods %v", methods)
	}
}
