// SPDX-License-Identifier: Apache-2.0

package rotate

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/capture"
)

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
