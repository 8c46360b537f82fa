// SPDX-License-Identifier: Apache-2.0

package pcapfile

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/flowdedup/flowdedup/capture"
)

// pipeSize is what a pipe is widened to.
const pipeSize = 1 << 20

// TestPipesAreWidened opens either end of a pipe, which widens it and never narrows it.
func TestPipesAreWidened(t *testing.T) {
	stdin, stdout := os.Stdin, os.Stdout
	defer func() { os.Stdin, os.Stdout = stdin, stdout }()
	for name, open := range map[string]func(r, w *os.File){
		"input": func(r, w *os.File) {
			os.Stdin = r
			if _, err := w.Write(packets64(capture.FormatPcap, 1)); err != nil {
				t.Fatal(err)
			}
			src, err := Open("-", Options{})
			if err != nil {
				t.Fatal(err)
			}
			src.Close()
		},
		"output": func(r, w *os.File) {
			os.Stdout = w
			if err := create(t, "-").Discard(); err != nil {
				t.Fatal(err)
			}
		},
	} {
		for before, want := range map[int]int{4096: pipeSize, 4 * pipeSize: 4 * pipeSize} {
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := unix.FcntlInt(r.Fd(), unix.F_SETPIPE_SZ, before); err != nil {
				t.Logf("pipes of %d bytes: %v", before, err) // only root may
			} else if open(r, w); pipeSizeOf(t, r) != want {
				t.Errorf("%s: from %d to %d bytes, want %d", name, before, pipeSizeOf(t, r), want)
			}
			r.Close()
			w.Close()
		}
	}
}

func pipeSizeOf(t *testing.T, f *os.File) int {
	t.Helper()
	n, err := unix.FcntlInt(f.Fd(), unix.F_GETPIPE_SZ, 0)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
