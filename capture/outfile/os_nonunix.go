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

// lockFile is for systems whose locks end with the process.
func lockFile(*os.File) error { return errors.ErrUnsupported }

// keepOwner is for systems whose files have one owner and one group.
func keepOwner(*os.File, fs.FileInfo) {}
