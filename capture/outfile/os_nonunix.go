// SPDX-License-Identifier: Apache-2.0

//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package outfile

import (
	"errors"
	"io/fs"
	"os"
)

// openAtOnce is for systems whose pipes do not wait for a reader.
const openAtOnce = 0

// trusts is for systems whose folders are not shared with users who are not trusted.
func (*folder) trusts(fs.FileInfo) bool { return true }

// linked is for systems that say how many names a file has.
func linked(fs.FileInfo) bool { return false }

// number is for systems whose FileInfo has a number of the file: elsewhere a file is known by its
// name, size and time.
func number(fs.FileInfo) uint64 { return 0 }

// lockFile is for systems whose locks end with the process.
func lockFile(*os.File) error { return errors.ErrUnsupported }

// keepOwner is for systems whose files have one owner and one group.
func keepOwner(*os.File, fs.FileInfo) {}
