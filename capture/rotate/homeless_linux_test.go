// SPDX-License-Identifier: Apache-2.0

package rotate

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestHomeless has the folder of a series lose its write permission, and get it back or not: complete
// files are elsewhere until then, and come home.
func TestHomeless(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root may become another user")
	}
	const nobody = 65534
	for _, back := range []string{"by Retry", "by Commit", "before a loss", "never"} {
		top, err := os.MkdirTemp("/tmp", "homeless") // which all users can reach
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.RemoveAll(top) })
		dir, other := filepath.Join(top, "dir"), filepath.Join(top, "other")
		if err := errors.Join(os.Chmod(top, 0o755), os.Mkdir(dir, 0o755), os.Chown(dir, nobody, nobody), os.Mkdir(other, 0o755), os.Chown(other, nobody, nobody)); err != nil {
			t.Fatal(err)
		}
		t.Setenv("STATE_DIRECTORY", other)
		if err := syscall.Setresuid(-1, nobody, -1); err != nil {
			t.Skip(err)
		}
		home, away, end := homeless(t, dir, back)
		if err := syscall.Setresuid(-1, 0, -1); err != nil {
			t.Fatal(err)
		}
		names := []string{"out-19700101T000000.000Z.csv", "out-19700101T000001.000Z.csv", "out-19700101T000003.000Z.csv"}
		switch back {
		case "by Retry":
			if end != nil || !slices.Equal(home, names) || len(away) != 0 {
				t.Errorf("%s: %v, %q, %q", back, end, home, away)
			}
		case "by Commit":
			if !errors.Is(end, os.ErrPermission) || !slices.Equal(home, names[:2]) || len(away) != 0 {
				t.Errorf("%s: %v, %q, %q", back, end, home, away)
			}
		case "before a loss":
			if end != nil || !slices.Equal(home, names[:2]) || len(away) != 0 {
				t.Errorf("%s: %v, %q, %q", back, end, home, away)
			}
		default:
			if end == nil || !strings.Contains(end.Error(), filepath.Join(other, names[1])) || !slices.Equal(home, names[:1]) || !slices.Equal(away, names[1:2]) {
				t.Errorf("%s: %v, %q, %q", back, end, home, away)
			}
		}
	}
}

// homeless writes lines of four seconds, and takes the permission in the second. It returns what is in
// the folder and elsewhere, and the result of Commit.
func homeless(t *testing.T, dir, back string) (home, away []string, end error) {
	t.Helper()
	var warnings []string
	lines, err := NewLines(filepath.Join(dir, "out.csv"), nil, Options{Every: time.Second, Warn: func(err error) { warnings = append(warnings, err.Error()) }})
	if err != nil {
		t.Fatal(err)
	}
	put := func(second int64) error { return lines.Put([]byte("line\n"), second*1e9) }
	if err := errors.Join(put(0), put(1)); err != nil {
		t.Fatal(err)
	}
	lines.waitCompleted()
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	lost := uint64(0)
	if back == "before a loss" {
		_ = lines.Tick(time.Unix(2, 0))
	} else {
		_ = put(2) // which fails: the file before has no name, and there is no file for this line
		lost++
	}
	lines.waitCompleted()
	if s := lines.Stats(); lines.err == nil || len(s.Elsewhere) != 1 || s.Packets != 2 || s.Lost != lost {
		t.Errorf("%v, %+v", lines.err, s)
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0], lines.Stats().Elsewhere[0]) {
		t.Errorf("warned of %q", warnings)
	}
	if back != "never" {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if back == "by Retry" {
		lines.Retry()
		if s := lines.Stats(); len(s.Elsewhere) != 0 || s.Files != 2 {
			t.Errorf("after Retry: %+v", s)
		}
		if err := put(3); err != nil {
			t.Error(err)
		}
	}
	end = lines.Commit()
	if came := strings.Contains(warnings[len(warnings)-1], "has come home: "+dir); came != (back != "never") {
		t.Errorf("%s: warned of %q", back, warnings)
	}
	if s := lines.Stats(); (len(s.Elsewhere) == 1) != (back == "never") || s.Packets < 2 {
		t.Errorf("%s: %+v", back, s)
	}
	return readRotated(t, dir).names, readRotated(t, os.Getenv("STATE_DIRECTORY")).names, end
}

// TestFailedStays has a file fail that gets a name: nothing comes home later that would end its error.
func TestFailedStays(t *testing.T) {
	lines, err := NewLines(filepath.Join(t.TempDir(), "out.csv"), nil, Options{Every: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	if err := lines.Put([]byte("line\n"), 0); err != nil {
		t.Fatal(err)
	}
	failed, result := errors.New("sync"), make(chan error, 1)
	result <- failed
	lines.file, lines.closing = nil, &closing{file: lines.file, result: result}
	if err := lines.Commit(); !errors.Is(err, failed) {
		t.Errorf("%v, want %v", err, failed)
	}
}
