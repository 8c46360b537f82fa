// SPDX-License-Identifier: Apache-2.0

//go:build unix

package hub

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestGive has root make a token in the folder of a hub that runs as another user: all files
// stay that user's.
func TestGive(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	const user, group = 61234, 61235
	path := filepath.Join(t.TempDir(), "state")
	folder, settings, err := MakeFolder(path)
	if err != nil {
		t.Fatal(err)
	}
	owned := func(do func(name string, owner *syscall.Stat_t)) {
		t.Helper()
		if err := filepath.WalkDir(path, func(name string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err == nil {
				do(name, info.Sys().(*syscall.Stat_t))
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	owned(func(name string, _ *syscall.Stat_t) { // as systemd does for a user of its own
		if err := os.Chown(name, user, group); err != nil {
			t.Fatal(err)
		}
	})
	if _, err := folder.Join(settings, "berlin"); err != nil {
		t.Fatal(err)
	}
	if err := folder.Save(settings); err != nil {
		t.Fatal(err)
	}
	files := 0
	owned(func(name string, owner *syscall.Stat_t) {
		files++
		if owner.Uid != user || owner.Gid != group {
			t.Errorf("%s belongs to %d:%d", name, owner.Uid, owner.Gid)
		}
	})
	if files < 5 { // two folders, the settings, the key of the hub, and the key of the site
		t.Errorf("only %d files", files)
	}
}
