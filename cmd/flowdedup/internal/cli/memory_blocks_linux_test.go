// SPDX-License-Identifier: Apache-2.0

//go:build linux && !race

package cli_test

import (
	"bufio"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// TestLargeBlocks runs commands, within 128 MiB of memory, on a capture with a block of 1 MB
// before each packet.
func TestLargeBlocks(t *testing.T) {
	if testing.Short() {
		t.Skip("a capture of 200 MB")
	}
	dir, folder := clitest.MemoryCgroup(t, 128<<20), t.TempDir()
	in, out := filepath.Join(folder, "in.pcapng"), filepath.Join(folder, "out.pcapng")
	writeLargeBlocks(t, in, 200)
	for _, args := range [][]string{
		{"compare", in, in, "--memory", "32MiB"},
		{"compare", in, in, "--only-a", out},
		{"dedup", in, "-w", out, "--hold", "1s", "--window", "1s"},
		{"dedup", in, "-w", out, "--hold", "1s", "--window", "1s", "--ignore", "l4-checksum"},
		{"dedup", in, "-w", out, "--hold", "1s", "--window", "1s", "--ignore", "l4-checksum", "--mark"},
		{"dedup", in, "-w", out, "--sort", "1s"},
		{"inspect", in},
		{"distinct", in},
		{"verify", in, in},
	} {
		cmd := clitest.Program(t, args...)
		cmd.Args = append([]string{"sh", "-c", `echo $$ > "$0"/cgroup.procs && exec "$@"`, dir, cmd.Path}, cmd.Args[1:]...)
		cmd.Path = "/bin/sh"
		if text, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%q: %v: %s", args, err, text)
		}
	}
}

// writeLargeBlocks writes n packets, each behind a block of 1 MB of an unknown type.
func writeLargeBlocks(t *testing.T, name string, n int) {
	t.Helper()
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := bufio.NewWriterSize(f, 1<<20)
	le, block := binary.LittleEndian, make([]byte, 1_000_000)
	le.PutUint32(block, 0x7777)
	le.PutUint32(block[4:], uint32(len(block)))
	le.PutUint32(block[len(block)-4:], uint32(len(block)))
	var b capture.Batch
	b.AppendInterface(capture.Interface{LinkType: capture.LinkEthernet})
	for i := range n {
		frame := clitest.Frame{TTL: 64}.Bytes()
		le.PutUint32(frame[14+12:], uint32(i)) // the source
		b.Append(capture.Frame{Time: 1_700_000_000_000_000_000 + int64(i)*10_000, Interface: 0}, frame)
		if _, err := w.Write(b.Buf); err != nil {
			t.Fatal(err)
		}
		b.Reset()
		if _, err := w.Write(block); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
}
