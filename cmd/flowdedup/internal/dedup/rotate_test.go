// SPDX-License-Identifier: Apache-2.0

package dedup_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/flowdedup/flowdedup/bench/lab/wait"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// readInTurn reads the packets of all files, one after the other.
func readInTurn(t *testing.T, names []string) (all []clitest.Record) {
	t.Helper()
	for _, name := range names {
		all = append(all, clitest.ReadAll(t, name)...)
	}
	return all
}

// TestRotate compares rotated outputs with a single file, and reads each with other
// tools.
func TestRotate(t *testing.T) {
	for _, c := range []struct {
		name, ending string
		inputs       []string
	}{
		{"pcap", ".pcap", []string{"router-in.pcap"}},
		{"pcapng", ".pcapng", []string{"router-vlan.pcapng"}},
		{"compressed", ".pcapng.zst", []string{"router-plain.pcapng"}},
		{"merged pcap", ".pcap.gz", []string{"router-in.pcap", "router-out.pcap"}},
		{"merged pcapng", ".pcapng", []string{"router-plain.pcapng", "router-vlan.pcapng", "router-any-sll2.pcap"}},
	} {
		for _, flags := range [][]string{
			{"--rotate-size", "8KiB"}, {"--rotate-every", "500ms"}, {"--rotate-every", "1s", "--rotate-size", "30KB"},
		} {
			dir := t.TempDir()
			var args []string
			for _, in := range c.inputs {
				args = append(args, clitest.Bundled(in))
			}
			whole := filepath.Join(dir, "whole")
			want := clitest.RunDedup(t, cli.ExitDone, append(args, "-w", whole+c.ending, "--duplicates", whole+"-copies"+c.ending)...)
			args = append(append(args, "-w", filepath.Join(dir, "kept"+c.ending), "--duplicates", filepath.Join(dir, "copies"+c.ending)), flags...)
			got := clitest.RunDedup(t, cli.ExitDone, args...)
			if got.PacketsOut != want.PacketsOut || got.Files == nil {
				t.Fatalf("%s %q: %+v", c.name, flags, got)
			}
			kept, copies := clitest.RotatedFiles(t, dir, "kept"), clitest.RotatedFiles(t, dir, "copies")
			if int(*got.Files) != len(kept)+len(copies) || len(kept) < 2 {
				t.Errorf("%s %q: %d files and %d, summary says %d", c.name, flags, len(kept), len(copies), *got.Files)
			}
			clitest.CompareRecords(t, c.name+": kept", readInTurn(t, kept), clitest.ReadAll(t, whole+c.ending))
			clitest.CompareRecords(t, c.name+": copies", readInTurn(t, copies), clitest.ReadAll(t, whole+"-copies"+c.ending))
			readByOthers(t, kept)
		}
	}
}

// readByOthers reads files with capinfos and tcpdump, if they are installed.
func readByOthers(t *testing.T, names []string) {
	t.Helper()
	if capinfos, err := exec.LookPath("capinfos"); err == nil {
		if text, err := exec.Command(capinfos, append([]string{"-c"}, names...)...).CombinedOutput(); err != nil {
			t.Errorf("capinfos: %v: %s", err, text)
		}
	}
	tcpdump, err := exec.LookPath("tcpdump")
	for i := 0; i < len(names) && err == nil && plainCapture(names[i]); i++ {
		if text, err := exec.Command(tcpdump, "-nqr", names[i], "-w", os.DevNull).CombinedOutput(); err != nil {
			t.Errorf("tcpdump: %v: %s", err, text)
		}
	}
}

// plainCapture reports whether libpcap can read a file: not compressed, and of one link
// type.
func plainCapture(name string) bool {
	src, err := pcapfile.Open(name, pcapfile.Options{})
	if err != nil {
		return false
	}
	defer src.Close()
	var b capture.Batch
	for err == nil {
		err = src.Next(&b)
		for i := range b.Interfaces {
			if b.Interfaces[i].LinkType != b.Interfaces[0].LinkType {
				return false
			}
		}
	}
	ending := filepath.Ext(name)
	return err == io.EOF && (ending == ".pcap" || ending == ".pcapng")
}

// TestRotateKilled checks that only complete files have final names.
func TestRotateKilled(t *testing.T) {
	one := clitest.ReadFile(t, clitest.Bundled("router-plain.pcapng"))
	for _, enough := range []int{1, 3, 9} {
		dir := t.TempDir()
		cmd := clitest.Program(t, "dedup", "-", "-w", filepath.Join(dir, "out.pcapng"), "--window", "n:1", "--rotate-size", "40KiB")
		stdin, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		wait.Until(t, fmt.Sprint(enough, " files"), func() bool {
			if _, err := stdin.Write(one); err != nil {
				t.Fatal(err)
			}
			return len(clitest.RotatedFiles(t, dir, "out")) >= enough
		})
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // it was killed
		names := clitest.RotatedFiles(t, dir, "out")
		if len(names) < enough {
			t.Fatalf("%d files", len(names))
		}
		if all := readInTurn(t, names); len(all) == 0 {
			t.Error("no packets in complete files")
		}
		readByOthers(t, names)
	}
}
