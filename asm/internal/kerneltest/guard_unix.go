// SPDX-License-Identifier: Apache-2.0

//go:build unix

package kerneltest

import (
	"testing"

	"golang.org/x/sys/unix"
)

// guarded returns n bytes; see Guarded.
func guarded(t testing.TB, n int, front bool) []byte {
	t.Helper()
	page := unix.Getpagesize()
	size := (n + page - 1) / page * page
	memory, err := unix.Mmap(-1, 0, size+2*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Munmap(memory) })
	for _, guard := range [][]byte{memory[:page], memory[page+size:]} {
		if err := unix.Mprotect(guard, unix.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	if front {
		return memory[page:][:n:n]
	}
	return memory[page+size-n : page+size : page+size]
}
