// SPDX-License-Identifier: Apache-2.0

//go:build linux || darwin

package cli_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/flowdedup/flowdedup/bench/workload"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// cutInputs are inputs of every kind.
func cutInputs(t *testing.T) map[string]*clitest.CutInput {
	t.Helper()
	dir := t.TempDir()
	all := map[string]*clitest.CutInput{}
	put := func(name string, data []byte) {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		all[name] = &clitest.CutInput{Names: []string{path}}
	}
	pcap, pcapng := cutStream(t, workload.Pcap, 21), cutStream(t, workload.PcapNG, 22)
	put("in.pcap", pcap)
	put("in.pcapng", pcapng)
	one := clitest.ReadFile(t, clitest.Bundled("router-plain.pcapng"))
	put("sections.pcapng", slices.Concat(one, pcapng, one))
	put("damaged.pcapng", slices.Concat(pcapng[:len(pcapng)/2], one))
	put("in.pcap.gz", packed(t, pcap, func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }))
	put("in.pcapng.zst", packed(t, pcapng, func(w io.Writer) io.WriteCloser {
		z, err := zstd.NewWriter(w)
		if err != nil {
			t.Fatal(err)
		}
		return z
	}))
	put("in.pcapng.lz4", packed(t, pcapng, func(w io.Writer) io.WriteCloser { return lz4.NewWriter(w) }))
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	all["pipe"] = &clitest.CutInput{Names: []string{fifo}, Fed: map[string][]byte{fifo: pcap}}
	all["merged"] = &clitest.CutInput{
		Names: []string{filepath.Join(dir, "in.pcap"), fifo, filepath.Join(dir, "in.pcap.gz"), filepath.Join(dir, "in.pcapng.lz4")},
		Fed:   map[string][]byte{fifo: pcapng},
	}
	return all
}

// cutStream is a capture of 100 minutes in which a packet in ten is a copy.
func cutStream(t *testing.T, format workload.Format, seed uint64) []byte {
	t.Helper()
	c := workload.Default()
	c.Packets, c.Format, c.Seed, c.Flows = 8000, format, seed, 2000
	if testing.Short() {
		c.Packets = 1000
	}
	var b bytes.Buffer
	if _, err := workload.Generate(&b, c); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func packed(t *testing.T, data []byte, pack func(io.Writer) io.WriteCloser) []byte {
	t.Helper()
	var b bytes.Buffer
	w := pack(&b)
	_, err := w.Write(data)
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// cutCommands are commands that together have every output. OUT starts the names of
// files.
var cutCommands = []string{
	"dedup -w OUT1.pcapng --duplicates OUT2.pcapng.gz",
	"dedup --json --identity frame -w OUT1.pcapng.zst --duplicates OUT2.pcapng.lz4",
	"dedup --json --window 50ms --refresh -w OUT1.pcapng --rotate-size 1MiB",
	"dedup --json --window none --method exact --across --duplicates OUT2.pcapng",
	"dedup --json --window none --memory 64KiB -w OUT1.pcapng",
	"dedup --json --window n:1000 -w OUT1.pcapng --rotate-every 20m",
	"dedup --json --window 50ms --strip vlan,tunnel -w OUT1.pcapng --duplicates OUT2.pcapng",
	"dedup --json --window 50ms --only udp --within vlan,interface -w OUT1.pcapng --duplicates OUT2.pcapng",
	"dedup --json --window n:1000 --filter ip --only tcp --protect udp --across -w OUT1.pcapng",
	"dedup --json --window none --only tcp --protect ip6 --prefer arp --duplicates OUT2.pcapng",
	"dedup --json --window 50ms --identity inner --ignore l4-checksum --keep flow -w OUT1.pcapng --duplicates OUT2.pcapng",
	"distinct",
	"distinct --list --of mac,flow,ip --every 7m",
	"distinct --json --list --of flow,src,ip,dst,mac --every 10m",
	"distinct --json --list --method lru --memory 64KiB --of biflow,pair --every none",
	"distinct --json --method bloom --of src,flow,biflow --every 20s",
	"distinct --json --method exact --of flow --tz Europe/Berlin --csv OUT.csv.gz",
	"distinct --quiet --csv OUT.csv --of src,flow",
	"distinct --csv OUT.csv --every 10m --slide 1m --of src,flow,mac",
	"distinct --json --every 1h --slide 15s --of ip,pair --method exact",
	"distinct --json --list --no-merge --of src,dst --every 5m",
}

// cutOutputs runs a command and returns all of its output.
func cutOutputs(t *testing.T, in *clitest.CutInput, command string, seed uint64, workers int) string {
	t.Helper()
	dir := t.TempDir()
	args := append(clitest.WordsOf(command, "OUT", filepath.Join(dir, "out")), in.Names...)
	in.Feed(t, seed)
	stdout, stderr, code := clitest.RunCut(seed, append(args, "--key", strings.Repeat("5a", 32), "--workers", fmt.Sprint(workers))...)
	text := fmt.Sprintf("exit code %d\n%s\n%s", code, clitest.SpentTime.ReplaceAllString(stdout, ""), stderr)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, ".flowdedup-files") {
			return err // a record of files has their numbers
		}
		data, err := os.ReadFile(path)
		text += fmt.Sprintf("%s:\n%s", d.Name(), data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestBatchEnds compares the output for batches that end anywhere, byte by byte. Unless
// FLOWDEDUP_BATCHES is "all", each kind of input runs a third of the commands, and a
// ninth where the test shall be short.
func TestBatchEnds(t *testing.T) {
	t.Parallel()
	inputs := cutInputs(t)
	share := 3
	if testing.Short() {
		share = 18
	}
	for k, kind := range slices.Sorted(maps.Keys(inputs)) {
		in := inputs[kind]
		for i, command := range cutCommands {
			if os.Getenv("FLOWDEDUP_BATCHES") != "all" && (i+k)%share != 0 {
				continue
			}
			t.Run(kind+"/"+command, func(t *testing.T) {
				if strings.Contains(command, "--only") {
					clitest.NeedTcpdump(t)
				}
				want := cutOutputs(t, in, command, 0, 1)
				if code := want[:len("exit code N")]; code != "exit code 0" && (kind != "damaged.pcapng" || code != "exit code 3") {
					t.Fatalf("%.300s", want)
				}
				for n, workers := range []int{1, 4} {
					seed := uint64(1 + 2*i + n)
					if got := cutOutputs(t, in, command, seed, workers); got != want {
						t.Errorf("%d workers, seed %d: %s", workers, seed, difference(got, want))
					}
				}
			})
		}
	}
}

// difference shows where two texts part.
func difference(got, want string) string {
	at := 0
	for at < min(len(got), len(want)) && got[at] == want[at] {
		at++
	}
	from := max(0, at-100)
	return fmt.Sprintf("after %d bytes of %d and %d:\n got %.300q\nwant %.300q", at, len(got), len(want), got[from:], want[from:])
}
