// SPDX-License-Identifier: Apache-2.0

package rotate

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/capture/internal/capturetest"
	"github.com/flowdedup/flowdedup/capture/outfile"
)

// TestKeepsInputs prunes files of a run before. One of these files is an input now, by a new name.
func TestKeepsInputs(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "out.pcap")
	batches := oneByOne(t, capturetest.Pcap(1, 12, 1, 0))
	write := func(opt Options) {
		t.Helper()
		opt.Every = time.Second
		r := newFile(t, name, opt)
		for _, b := range batches {
			if err := r.Write(b, nil); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	write(Options{})
	first := readRotated(t, dir).names
	if err := os.Link(filepath.Join(dir, first[3]), filepath.Join(dir, "input")); err != nil {
		t.Skip(err)
	}
	var warnings []string
	write(Options{
		Keep: 2, Inputs: InputInfos([]string{"-", filepath.Join(dir, "input"), filepath.Join(dir, "none")}),
		Warn: func(err error) { warnings = append(warnings, err.Error()) },
	})
	if got := readRotated(t, dir).names; len(got) != 3 || !slices.Contains(got, first[3]) || got[0] != "input" {
		t.Errorf("%q", got)
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0], first[3]) || !strings.Contains(warnings[0], outfile.ErrStays.Error()) {
		t.Errorf("%q", warnings)
	}
}

// TestNamesTakenByOthers says once that files fit the name and are not of this output.
func TestNamesTakenByOthers(t *testing.T) {
	var warnings []string
	got := keepFiles(t, Options{Keep: 1, Warn: func(err error) { warnings = append(warnings, err.Error()) }}, 0,
		"out-19700101T000000.000Z.pcap", "out-19710101T000000.000Z.pcap")
	if len(got) != 3 || len(warnings) != 1 || !strings.HasPrefix(warnings[0], "2 files ") {
		t.Errorf("%q, %q", got, warnings)
	}
}

// TestLockedPattern has two series at a time that could give the same names.
func TestLockedPattern(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"cap.pcap", "cap.pcap", true},
		{"out-%H.pcap", "out-%M.pcap", true},
		{"out-%H.pcap", "out-%Y.pcap", false},
		{"out-%H.pcap", "out-%H.pcap.gz", false},
		{"cap.pcap", "cap-%Y%m%dT%H%M%S.000Z.pcap", true},
		{"cap.pcap", "cap-%Y%m%d.pcap", false},
		{"cap-%s.pcap", "cap-%Y%m%d.pcap", true},
		{"cap-%a.pcap", "cap-%b.pcap", true},
		{"cap-%a.pcap", "cap-%d.pcap", false},
		{"cap-%H.pcap", "cap-%H_%M.pcap", true}, // with a number
	} {
		a, b := filepath.Join(dir, c.a), filepath.Join(dir, c.b)
		if got := Overlap(a, b, time.Hour); got != c.want {
			t.Errorf("%s and %s: %v", c.a, c.b, got)
		}
		if Overlap(a, filepath.Join(t.TempDir(), c.b), time.Hour) {
			t.Errorf("%s and %s in another folder", c.a, c.b)
		}
		first, err := New(a, Options{Every: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		second, err := New(b, Options{Every: time.Hour})
		if errors.Is(err, outfile.ErrLocked) != c.want {
			t.Errorf("%s and %s at a time: %v", c.a, c.b, err)
		}
		if err == nil {
			_ = second.Discard() // nothing was written
		}
		_ = first.Discard()
	}
}

// TestFits compares names of files with names that an output may give.
func TestFits(t *testing.T) {
	dir := t.TempDir()
	output := filepath.Join(dir, "cap-%Y%m%d.pcap")
	if err := os.Symlink("cap-20231114.pcap", filepath.Join(dir, "link.pcap")); err != nil {
		t.Skip(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "cap-20231114.pcap"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{
		"cap-20231114.pcap": true, "./cap-20231114.pcap": true, "link.pcap": true, "cap-20231114_002.pcap": true, "cap-20231114.partial.pcap": true,
		"cap-2023111.pcap": false, "xcap-20231114.pcap": false, "../cap-20231114.pcap": false, "none/cap-20231114.pcap": false,
	} {
		if got := Fits(output, dir+"/"+name, time.Hour); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
