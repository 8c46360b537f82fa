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

// TestMergeRefuses has files that do not merge, are damaged, or are no such files.
func TestMergeRefuses(t *testing.T) {
	file := saveSensors(t, sensorCaptures[:1])[0]
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name string, b []byte) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	damaged := slices.Clone(whole)
	damaged[len(damaged)/2] ^= 4
	other := func(more ...string) string { return saveSensors(t, sensorCaptures[1:2], more...)[0] }
	for name, c := range map[string]struct {
		args []string
		code int
		want string
	}{
		"key":     {[]string{file, other("--key", strings.Repeat("77", 32))}, cli.ExitUsage, "another --key than"},
		"mask":    {[]string{file, other("--mask4", "24")}, cli.ExitUsage, "with --mask4 24,"},
		"zone":    {[]string{file, other("--tz", "Europe/Berlin")}, cli.ExitUsage, "--tz Europe/Berlin"},
		"windows": {[]string{file, other("--every", "1m")}, cli.ExitUsage, "--every 1m0s"},
		"keys":    {[]string{file, other("--of", "src")}, cli.ExitUsage, "--of src"},
		"cut":     {[]string{write("cut", whole[:len(whole)-20])}, cli.ExitFailed, "cut: byte "},
		"damaged": {[]string{write("damaged", damaged)}, cli.ExitFailed, "damaged: byte "},
		"capture": {sensorCaptures[:1], cli.ExitFailed, "byte 0: not a complete file of counts"},
		"missing": {[]string{filepath.Join(dir, "nothing")}, cli.ExitFailed, "no such file"},
		"twice":   {[]string{file, file}, cli.ExitUsage, "same file"},
	} {
		_, errs, code := clitest.Run(append([]string{"distinct", "--merge"}, c.args...)...)
		if code != c.code || !strings.Contains(errs, c.want) || strings.Count(errs, "\n") != 1 {
			t.Errorf("%s: exit code %d, stderr %q, want %d with %q", name, code, errs, c.code, c.want)
		}
	}
}

// TestSaveIncomplete damages an input: the file keeps what there was under another name if
// one exists, and is complete in itself.
func TestSaveIncomplete(t *testing.T) {
	whole, err := os.ReadFile(sensorCaptures[0])
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	in, out := filepath.Join(dir, "cut.pcap"), filepath.Join(dir, "roof.counts")
	if err := os.WriteFile(in, whole[:len(whole)*2/3], 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(out, []byte("before"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, errs, code := clitest.Run(slices.Concat([]string{"distinct", "-q", in, "--save", out}, counted)...); code != cli.ExitDamaged || !strings.Contains(errs, "roof.partial.counts") {
		t.Errorf("exit code %d, stderr %q", code, errs)
	}
	if b, err := os.ReadFile(out); err != nil || string(b) != "before" {
		t.Errorf("the file from before is %q, %v", b, err)
	}
	if rows := clitest.RunDistinct(t, "--merge", filepath.Join(dir, "roof.partial.counts")); len(rows) == 0 {
		t.Error("the partial file has no rows")
	}
}

// TestSaveUsage has flags that do not fit.
func TestSaveUsage(t *testing.T) {
	in := sensorCaptures[0]
	for line, want := range map[string]string{
		"--save x":      "--save needs --key",
		"--sensor roof": "--sensor needs --save",
		"--sensor a/b":  "letters, digits",
		"--overlap":     "--overlap needs --merge",
		"--save x --method bloom --key " + clitest.Key:  "--save needs --method auto or sketch",
		"--save x --every none --key " + clitest.Key:    "--every 1h, not none",
		"--changes --slide 1m":                          "--slide and --",
		"--changes --method lru":                        "cannot list its keys",
		"--set-limit 10 --method sketch":                "--set-limit needs --method auto",
		"--set-limit 10 --list":                         "--list and --set-limit",
		"--method sketch --memory 1MiB":                 "16 KiB",
		"--merge --of src":                              "--of has no meaning with --merge",
		"--memory 863KiB":                               "at least 864KiB",
		"--memory 1295KiB --total":                      "at least 1296KiB",
		"--save x --csv ./x --key " + clitest.Key:       "same file",
		"--merge --csv -":                               "needs --quiet",
		"--save x --fpr 1e-12 --key " + clitest.Key:     "--fpr must be at least",
		"--gaps --every none":                           "not none",
		"--merge --every 1h --total":                    "--every has no meaning",
		"--save  --key " + clitest.Key:                  "empty",
		"--set-limit 0":                                 "positive number",
		"--save x --slide 1m --key " + clitest.Key:      "--slide and --",
		"--changes --method bloom --key " + clitest.Key: "cannot list its keys",
	} {
		args := append([]string{"distinct", in}, strings.Split(line, " ")...)
		if _, errs, code := clitest.Run(args...); code != cli.ExitUsage || !strings.Contains(errs, want) {
			t.Errorf("%s: exit code %d, stderr %q, want %q", line, code, errs, want)
		}
	}
}
