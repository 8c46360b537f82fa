// SPDX-License-Identifier: Apache-2.0

package outfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// TestHomeless has a folder take no name for a complete file for a while.
func TestHomeless(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root may become another user")
	}
	for _, end := range []string{"home", "away", "nowhere"} {
		t.Run(end, func(t *testing.T) {
			bothWays(t, func(t *testing.T) { testHomeless(t, end) })
		})
	}
}

func testHomeless(t *testing.T, end string) {
	const nobody = 65534
	top, err := os.MkdirTemp("/tmp", "homeless") // which all users can reach
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(top) })
	dir, other := filepath.Join(top, "dir"), filepath.Join(top, "other")
	if err := errors.Join(os.Chmod(top, 0o755), os.Mkdir(dir, 0o755), os.Chown(dir, nobody, nobody), os.Mkdir(other, 0o755), os.Chown(other, nobody, nobody)); err != nil {
		t.Fatal(err)
	}
	t.Setenv("STATE_DIRECTORY", other+":/nonexistent")
	var got error
	if err := asUser(nobody, func() error {
		s, err := OpenSeries(filepath.Join(dir, "cap.pcap"), regexp.MustCompile(`^cap-.*\.pcap$`))
		if err != nil {
			return err
		}
		next := func() string { return "cap-1.pcap" }
		f, err := CreateNew(filepath.Join(dir, "cap.pcap"), next, Options{Series: s})
		if err != nil {
			return err
		}
		if end == "nowhere" {
			err = os.Chmod(other, 0o555)
		}
		_, failed := f.Write([]byte("content"))
		if err := errors.Join(err, failed, os.Chmod(dir, 0o555)); err != nil {
			return err
		}
		got = f.Commit()
		away, homeless := f.Homeless()
		if want := filepath.Join(other, "cap-1.pcap"); !homeless || (away == want) != (end != "nowhere") {
			t.Errorf("away %q, %v", away, homeless)
		}
		if err := f.Home(next); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("Home: %v", err)
		}
		if end == "away" {
			return errors.Join(f.Forsake(), os.Chmod(dir, 0o755), s.Close())
		}
		err = errors.Join(os.Chmod(dir, 0o755), f.Home(next))
		if _, homeless := f.Homeless(); homeless || f.Lost() || f.Name() != filepath.Join(dir, "cap-1.pcap") {
			t.Errorf("still homeless as %s", f.Name())
		}
		return errors.Join(err, s.Close())
	}); err != nil {
		t.Fatal(err)
	}
	var kept *KeptError
	if !errors.Is(got, fs.ErrPermission) || errors.As(got, &kept) != (end != "nowhere") {
		t.Errorf("Commit: %v", got)
	}
	if end == "away" {
		if got := read(t, filepath.Join(other, "cap-1.pcap")); got != "content" {
			t.Errorf("elsewhere is %q", got)
		}
		return
	}
	holds(t, other, nil)
	if got, others := known(t, dir); len(got) != 1 || others != 0 || read(t, filepath.Join(dir, "cap-1.pcap")) != "content" {
		t.Errorf("%q", got)
	}
}
