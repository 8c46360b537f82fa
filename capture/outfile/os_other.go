// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package outfile

import "os"

// WidenPipe does nothing where pipes are as wide as they are.
func WidenPipe(*os.File) {}

// reserve is for systems that take room for a file ahead.
func reserve(*os.File, int64) error { return nil }

// MayBeClosed is for systems that report a closed standard output on a write.
func MayBeClosed() bool { return false }

// startWriteBack does nothing where only a sync does it.
func startWriteBack(*os.File, int64, int64) {}

// CheckFolder returns an error if there is no such folder.
func CheckFolder(dir string) error {
	_, err := os.ReadDir(dir)
	return err
}

// onLocalSystem is for systems that report the file system of a path.
func onLocalSystem(string) bool { return false }
