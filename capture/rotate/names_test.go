// SPDX-License-Identifier: Apache-2.0

package rotate

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/capturetest"
)

// TestRefuses names that cannot be files.
func TestRefuses(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"-", "/dev/stdout", dir, os.DevNull} {
		if _, err := New(name, Options{Size: 1}); !errors.Is(err, ErrCannotRotate) || !strings.Contains(err.Error(), name) {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{"", filepath.Join(dir, "no", "such"), filepath.Join(dir, strings.Repeat("x", 240))} {
		var path *fs.PathError
		if _, err := New(name, Options{Size: 1}); !errors.As(err, &path) || path.Path != name {
			t.Errorf("%q: %v", name, err)
		}
	}
	if got := readRotated(t, dir); len(got.names) != 0 {
		t.Errorf("left behind: %q", got.names)
	}
	for _, opt := range []Options{{Size: -1}, {Every: -1}, {Keep: -1}, {KeepBytes: -1}} {
		if _, err := New(filepath.Join(t.TempDir(), "out.pcap"), opt); !errors.Is(err, ErrCannotRotate) {
			t.Errorf("%+v: %v", opt, err)
		}
	}
}

func TestNames(t *testing.T) {
	at := time.Date(2026, 11, 21, 22, 0, 0, 5_900_000, time.UTC).UnixNano()
	for _, tt := range []struct{ name, want string }{
		{"cap.pcapng", "cap-20261121T220000.005Z.pcapng"},
		{"cap.pcapng.zst", "cap-20261121T220000.005Z.pcapng.zst"},
		{"a.b/c.d.pcap.GZ", "a.b/c.d-20261121T220000.005Z.pcap.GZ"},
		{"a.b/cap", "a.b/cap-20261121T220000.005Z"},
		{"cap.lz4", "cap-20261121T220000.005Z.lz4"},
		{".cap", ".cap-20261121T220000.005Z"},
	} {
		n := newNames(filepath.FromSlash(tt.name), 0)
		n.begin(at)
		if got := filepath.ToSlash(n.next()); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
	for every, want := range map[time.Duration][]string{
		0: {
			"x-00000000T000000.000Z", "x-00000000T000000.000Z_002", "x-19691231T235959.999Z", "x-20261121T220000.005Z",
			"x-20261121T220000.005Z_002", "x-20261121T220000.005Z_003", "x-20261121T220000.005Z_004", "x-20261121T220000.006Z",
		},
		time.Hour: { // the second before is of the interval before
			"x-00000000T000000.000Z", "x-00000000T000000.000Z_002", "x-19691231T235959.999Z", "x-20261121T220000.005Z",
			"x-20261121T220000.005Z_002", "x-20261121T215959.005Z", "x-20261121T215959.005Z_002", "x-20261121T220000.006Z",
		},
	} {
		n := newNames("x", every)
		var got []string
		for _, first := range []int64{capture.NoTime, capture.NoTime, -1, at, at + 1, at - 1e9, capture.NoTime, at + 1e6} {
			n.begin(first)
			got = append(got, n.next())
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// keepFiles writes 12 packets, one every second, in files of one each, into a folder, and returns the
// files that are there then. Runs before have written earlier files, unless their number is 0, and
// others are somebody else's.
func keepFiles(t *testing.T, opt Options, earlier int, others ...string) []string {
	t.Helper()
	dir := t.TempDir()
	name := filepath.Join(dir, "out.pcap")
	for i := range earlier {
		lines, err := NewLines(name, nil, Options{Every: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		end := lines.Commit
		if i == earlier-1 {
			end = lines.CutShort
		}
		if err := errors.Join(lines.Put(make([]byte, 1000), -1), end()); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range others {
		if err := os.WriteFile(filepath.Join(dir, name), make([]byte, 1000), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	opt.Every = time.Second
	r := newFile(t, name, opt)
	for _, b := range oneByOne(t, capturetest.Pcap(1, 12, 1, 0)) {
		if err := r.Write(b, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Commit(); err != nil {
		t.Fatal(err)
	}
	return readRotated(t, dir).names
}

// TestKeeps few files, files of earlier runs counted too, and none that only
// look alike.
func TestKeeps(t *testing.T) {
	others := []string{
		"out-x.pcap", "out-19700101T000000.000Z.pcapng", "other-19700101T000000.000Z.pcap", "out.pcap",
		"out-19700101T000000.000Z.pcap", "out-20991231T235959.000Z_007.pcap",
	}
	earlier := []string{"out-19691231T235959.999Z.pcap", "out-19691231T235959.999Z_002.pcap"}
	all := keepFiles(t, Options{}, 0)
	if len(all) < 5 {
		t.Fatalf("%q", all)
	}
	if got := keepFiles(t, Options{}, 3); len(got) != len(all)+3 || !slices.Equal(got[1:3], earlier) {
		t.Fatalf("%q", got)
	}
	last := all[len(all)-4:]
	for name, opt := range map[string]Options{
		"number": {Keep: 4},
		"both":   {Keep: 4, KeepBytes: 1 << 20},
	} {
		got := keepFiles(t, opt, 3, others...)
		if want := slices.Sorted(slices.Values(slices.Concat(others, last))); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	// The newest stays, however large it is.
	if got := keepFiles(t, Options{KeepBytes: 1}, 3); !slices.Equal(got, all[len(all)-1:]) {
		t.Errorf("%q", got)
	}
	// All of the run before goes first.
	if got := keepFiles(t, Options{KeepBytes: 2000}, 3); slices.Contains(got, earlier[0]) || !slices.Contains(got, all[0]) {
		t.Errorf("%q", got)
	}
}

// inZone sets the local zone.
func inZone(t *testing.T, zone *time.Location) {
	t.Helper()
	local := time.Local
	time.Local = zone
	t.Cleanup(func() { time.Local = local })
}

// TestTemplates puts times into names as strftime does, and recognizes the names.
func TestTemplates(t *testing.T) {
	inZone(t, time.FixedZone("CET", 3600))
	at := time.Date(2026, 11, 21, 22, 5, 6, 7e6, time.UTC).UnixNano()
	for _, c := range []struct {
		name, want string
		dated      bool
	}{
		{"cap-%Y%m%d-%H%M%S.pcap", "cap-20261121-230506.pcap", true},
		{"%Y%m%d.pcapng.zst", "20261121.pcapng.zst", true},
		{"a.b/%F_%j_%y.pcap", "a.b/2026-11-21_325_26.pcap", true},
		{"100%%-%s.pcap", "100%-1795298706.pcap", true},
		{"x-%a%b%z%Z%I%p.pcap", "x-SatNov+0100CET11PM.pcap", false},
	} {
		n := newNames(filepath.FromSlash(c.name), time.Hour)
		n.begin(at)
		got := n.next()
		if err := n.checkTemplate(); err != nil || filepath.ToSlash(got) != c.want {
			t.Errorf("%s: %v, %s, want %s", c.name, err, got, c.want)
		}
		if second := n.next(); !n.pattern().MatchString(filepath.Base(got)) || !n.pattern().MatchString(filepath.Base(second)) || second == got {
			t.Errorf("%s does not match %s and %s", n.pattern(), got, second)
		}
		if back := n.timeOf(filepath.Base(got[:len(got)-len(n.ending)]), time.Time{}); c.dated != (back.Year() == 2026) {
			t.Errorf("%s is of %v", got, back)
		}
		if other := "other-" + filepath.Base(got); n.pattern().MatchString(other) {
			t.Errorf("%s matches %s", n.pattern(), other)
		}
	}
	untimed := newNames("cap-%Y.pcap", time.Hour)
	if got := untimed.next(); got != "cap-1970.pcap" {
		t.Errorf("without a time: %s", got)
	}
	if n := newNames("cap-%Y.pcap", 0); n.template {
		t.Error("a template without intervals")
	}
}

// TestBadTemplates names what is wrong.
func TestBadTemplates(t *testing.T) {
	for _, name := range []string{"cap-%Q.pcap", "cap%", "cap-%é.pcap", filepath.Join("%Y", "%m.pcap")} {
		if _, err := New(filepath.Join(t.TempDir(), name), Options{Every: time.Hour}); !errors.Is(err, ErrCannotRotate) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestTemplateFiles writes an hour to each file, numbers names that are taken, keeps the
// newest, and leaves other files alone.
func TestTemplateFiles(t *testing.T) {
	inZone(t, time.UTC)
	dir := t.TempDir()
	for _, other := range []string{"cap-notes.txt", "cap-20261121.pcap.bak"} {
		if err := os.WriteFile(filepath.Join(dir, other), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	lines, err := NewLines(filepath.Join(dir, "cap-%Y%m%d.pcap"), nil, Options{Every: time.Hour, Keep: 2})
	if err != nil {
		t.Fatal(err)
	}
	start := time.Date(2026, 11, 21, 22, 0, 0, 0, time.UTC).UnixNano()
	for hour := range int64(4) {
		if err := lines.Put([]byte("line\n"), start+hour*int64(time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(lines.Put([]byte("untimed\n"), capture.NoTime), lines.Commit()); err != nil {
		t.Fatal(err)
	}
	want := []string{"cap-20261121.pcap.bak", "cap-20261122.pcap", "cap-20261122_002.pcap", "cap-notes.txt"}
	if got := readRotated(t, dir); !slices.Equal(got.names, want) || string(got.files[2]) != "line\nuntimed\n" {
		t.Errorf("%q, want %q", got.names, want)
	}
}
