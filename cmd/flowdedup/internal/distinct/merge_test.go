// SPDX-License-Identifier: Apache-2.0

package distinct_test

import (
	"fmt"
	"os"
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

// TestMergeSensors compares merged files with counts of all captures together.
func TestMergeSensors(t *testing.T) {
	files := saveSensors(t, sensorCaptures)
	want := map[string]clitest.DistinctRow{}
	for _, row := range clitest.RunDistinct(t, slices.Concat(sensorCaptures, counted, []string{"--total"})...) {
		if row.Kind == "total" {
			row.WindowStart = ""
		}
		want[row.Name()] = row
	}
	got := clitest.RunDistinct(t, append([]string{"--merge", "--total"}, files...)...)
	if len(got) != len(want) {
		t.Errorf("%d rows, want %d", len(got), len(want))
	}
	for _, row := range got {
		if row.Kind == "total" {
			row.WindowStart = ""
		}
		w, ok := want[row.Name()]
		if !ok || row.Distinct != w.Distinct || row.Low != w.Distinct || row.High != w.Distinct || row.Packets != w.Packets {
			t.Errorf("%+v, want %+v", row, w)
		}
		if n := len(row.Missing); row.Sensors != fmt.Sprintf("%d/3", 3-n) {
			t.Errorf("sensors %q, missing %q", row.Sensors, row.Missing)
		}
	}
	union := filepath.Join(t.TempDir(), "union.counts")
	got = clitest.RunDistinct(t, append([]string{"--merge", "--save", union, "--sensor", "both"}, files...)...)
	again := clitest.RunDistinct(t, "--merge", union)
	if len(again) != len(got) {
		t.Errorf("%d rows of the saved union, want %d", len(again), len(got))
	}
	for i, row := range again {
		if w := got[i]; row.Name() != w.Name() || row.Distinct != w.Distinct || row.Packets != w.Packets || row.Sensors != "1/1" {
			t.Errorf("saved union: %+v, want %+v", row, w)
		}
	}
	table, _, code := clitest.Run(append([]string{"distinct", "--merge", "--overlap"}, files...)...)
	if code != cli.ExitDone || !strings.Contains(table, "only here") || !strings.Contains(table, "sensors") {
		t.Errorf("exit code %d, table %q", code, table)
	}
	name := filepath.Join(t.TempDir(), "merged.csv")
	_, _, code = clitest.Run(append([]string{"distinct", "--merge", "--csv", name}, files...)...)
	csv, err := os.ReadFile(name)
	if code != cli.ExitDone || err != nil || !strings.HasPrefix(string(csv), "window_start,") || !strings.Contains(string(csv), ",predicted_fpr,sensors,missing,cut,seen_from,seen_to\n") {
		t.Errorf("exit code %d, %v, CSV %q", code, err, csv)
	}
}

// TestMergeOverlap compares overlaps with unions of two and of the others.
func TestMergeOverlap(t *testing.T) {
	files := saveSensors(t, sensorCaptures)
	union := func(files ...string) map[string]uint64 {
		all := map[string]uint64{}
		for _, row := range clitest.RunDistinct(t, append([]string{"--merge"}, files...)...) {
			all[row.WindowStart+row.Of+row.Family] = row.Distinct
		}
		return all
	}
	all, alone, without := union(files...), map[string]map[string]uint64{}, map[string]map[string]uint64{}
	both := map[string]map[string]uint64{}
	for i, file := range files {
		name := fmt.Sprintf("s%d", i)
		alone[name] = union(file)
		without[name] = union(slices.Delete(slices.Clone(files), i, i+1)...)
		for j := i + 1; j < len(files); j++ {
			both[name+fmt.Sprintf("s%d", j)] = union(file, files[j])
		}
	}
	lines := 0
	for _, row := range clitest.RunDistinct(t, append([]string{"--merge", "--overlap"}, files...)...) {
		at := row.WindowStart + row.Of + row.Family
		switch row.Kind {
		case "sensor":
			lines++
			if row.Distinct != alone[row.Sensor][at] || row.Only != all[at]-without[row.Sensor][at] {
				t.Errorf("%+v: want %d, only %d", row, alone[row.Sensor][at], all[at]-without[row.Sensor][at])
			}
		case "overlap":
			lines++
			if want := alone[row.Sensor][at] + alone[row.Other][at] - both[row.Sensor+row.Other][at]; row.Both != want {
				t.Errorf("%+v: want %d", row, want)
			}
		}
	}
	if lines != 6*len(all) {
		t.Errorf("%d lines for %d counts", lines, len(all))
	}
}

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
