// SPDX-License-Identifier: Apache-2.0

//go:build unix

package hub

import (
	"os"
	"syscall"
)

// give gives a new file to the owner of the folder where root makes it, as by join-token: the
// hub may run as another user, who has to read it.
func (f *Folder) give(file *os.File) error {
	if os.Geteuid() != 0 {
		return nil
	}
	info, err := os.Stat(f.path)
	if err != nil {
		return err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok || owner.Uid == 0 {
		return nil
	}
	return file.Chown(int(owner.Uid), int(owner.Gid))
}
