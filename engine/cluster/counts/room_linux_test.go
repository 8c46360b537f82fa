// SPDX-License-Identifier: Apache-2.0

package counts

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/flowdedup/flowdedup/engine/hubclient"
)

// TestFullDisk sends counts to a store whose disk has no room, until it has. Stored files
// stay, the site gets the answer that it may send the file later, and the file is then
// taken.
func TestFullDisk(t *testing.T) {
	disk := t.TempDir()
	if err := syscall.Mount("none", disk, "tmpfs", 0, "size=2m"); err != nil {
		t.Skip("no file system: ", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(disk, syscall.MNT_DETACH) })
	folder, filler := filepath.Join(disk, "counts"), filepath.Join(disk, "filler")
	s, log := open(t, folder, 1<<30)
	first := countsOf(t, "berlin", hour(9), many(1, 1000))
	if err := send(s, "berlin", hour(9), first); err != nil {
		t.Fatal(err)
	}
	settled(t, s)
	if err := os.WriteFile(filler, make([]byte, 4<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatal("the disk is not full: ", err)
	}
	second := countsOf(t, "paris", hour(10), many(2, 1000))
	for range 3 {
		if err := send(s, "paris", hour(10), second); !errors.Is(err, hubclient.ErrCountsNow) || errors.Is(err, hubclient.ErrCounts) {
			t.Fatal(err)
		}
	}
	if said := log.all(); strings.Count(said, "no space left") != 1 {
		t.Errorf("warnings: %s", said)
	}
	if rows := s.Rows(10, nil); len(rows) != 2 || rows[0].Distinct != 1000 {
		t.Errorf("rows on a full disk: %+v", rows)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	if err := send(s, "paris", hour(10), second); err != nil {
		t.Fatal(err)
	}
	settled(t, s)
	again, _ := open(t, folder, 1<<30)
	settled(t, again)
	if rows := again.Rows(10, nil); len(rows) != 4 || rows[0].Distinct != 1000 || rows[3].Distinct != 1000 {
		t.Errorf("rows after the disk had room: %+v", rows)
	}
	if _, err := os.Stat(filepath.Join(folder, incoming, "paris")); err == nil {
		t.Error("what was not taken stays")
	}
}
