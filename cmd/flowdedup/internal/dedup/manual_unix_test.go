// SPDX-License-Identifier: Apache-2.0

//go:build unix

package dedup_test

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/dedup"
)

// manual returns a page, or the README, without line ends.
func manual(t *testing.T, page string) string {
	t.Helper()
	name := filepath.Join("../../doc", page)
	if page == "README.md" {
		name = "../../../../README.md"
	}
	return strings.Join(strings.Fields(string(clitest.ReadFile(t, name))), " ")
}

// TestManualFigures makes numbers of the manual again, and looks for them in its pages.
func TestManualFigures(t *testing.T) {
	ordered, mirror := clitest.Bundled("router-ordered.pcapng"), clitest.Bundled("mirror-vxlan.pcap")
	rate := func(f dedup.Summary, digits int) string {
		return fmt.Sprintf("%.*f·10", digits, f.PredictedFPR/math.Pow10(int(math.Floor(math.Log10(f.PredictedFPR))))) + exponent(f.PredictedFPR)
	}
	span := clitest.RunDedup(t, cli.ExitDone, ordered)
	plain, inner := clitest.RunDedup(t, cli.ExitDone, mirror, "--identity", "inner"), clitest.RunDedup(t, cli.ExitDone, mirror, "--identity", "inner", "--ignore", "l4-checksum")
	timed, across, none := clitest.RunDedup(t, cli.ExitDone, ordered), clitest.RunDedup(t, cli.ExitDone, ordered, "--across"), clitest.RunDedup(t, cli.ExitDone, ordered, "--window", "none")
	if math.Abs(none.PredictedFPR/timed.PredictedFPR-0.5) > 1e-5 {
		t.Errorf("--window none has %g, others %g: not half", none.PredictedFPR, timed.PredictedFPR)
	}
	for _, c := range []struct{ page, text string }{
		{"README.md", fmt.Sprintf("1,%d packets in, %d duplicates removed (%.2f %%), %d packets written", span.PacketsIn-1000, span.Duplicates, 100*float64(span.Duplicates)/float64(span.PacketsIn), span.PacketsOut)},
		{"recipes.md", fmt.Sprintf("%d of %d copies", plain.Duplicates, inner.Duplicates)},
		{"README.md", "at most " + rate(timed, 1)},
		{"guarantees.md", "at most " + rate(timed, 1)},
		{"accuracy.md", fmt.Sprintf("at most %s of packets (`--across` %s; `--window none` half)", rate(timed, 1), rate(across, 1))},
		{"accuracy.md", "34 bits and a coarse time | " + rate(clitest.RunDedup(t, cli.ExitDone, ordered, "--fpr", "1e-9"), 0)},
		{"accuracy.md", "24 bits and a coarse time | " + rate(clitest.RunDedup(t, cli.ExitDone, ordered, "--fpr", "1e-6"), 0)},
	} {
		if !strings.Contains(manual(t, c.page), c.text) {
			t.Errorf("%s does not have %q", c.page, c.text)
		}
	}
}

// exponent writes the power of ten of a small number as the manual does.
func exponent(f float64) string {
	return strings.Map(func(r rune) rune {
		if r == '-' {
			return '⁻'
		}
		return []rune("⁰¹²³⁴⁵⁶⁷⁸⁹")[r-'0']
	}, strconv.Itoa(int(math.Floor(math.Log10(f)))))
}

// TestManualMemory makes the table of accuracy.md again, but for the memory of the process: filters of
// a stream with a new packet each microsecond, and what they forget, within what keys change.
func TestManualMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("18 million packets")
	}
	const packets = 6_000_000
	page := manual(t, "accuracy.md")
	for _, flags := range []string{"--window 1ms", "--window 1s", "--window 1s --memory 16MiB"} {
		got := runSteady(t, flags, packets, time.Microsecond)
		_, row, _ := strings.Cut(page, "| `"+flags+"` | ")
		cells := strings.Split(row, " | ")
		if filter := sizeIn(t, cells[0]); math.Abs(filter/float64(got.MemoryBytes)-1) > 0.01 {
			t.Errorf("%s: a filter of %d bytes, the manual has %s", flags, got.MemoryBytes, cells[0])
		}
		want, err := strconv.ParseFloat(strings.ReplaceAll(strings.Fields(cells[2])[0], ",", ""), 64)
		if err != nil {
			t.Fatal(err)
		}
		if off := math.Abs(float64(got.EvictedLive) - want); off > max(want/25, 6*math.Sqrt(want)) {
			t.Errorf("%s: %d forgotten too early, the manual has %s", flags, got.EvictedLive, cells[2])
		}
	}
}

// sizeIn reads a size of the manual.
func sizeIn(t *testing.T, cell string) float64 {
	t.Helper()
	number, unit, _ := strings.Cut(cell, " ")
	n, err := strconv.ParseFloat(number, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n * map[string]float64{"KiB": 1 << 10, "MiB": 1 << 20, "MB": 1e6}[unit]
}

// TestManualBytes holds what the manual says of the memory of windows: with timed 29 to 36 bytes a
// packet, with fine 10 to 12, with coarse 8 to 9, and 128 MiB at first. One packet in 50,000 is
// forgotten too early.
func TestManualBytes(t *testing.T) {
	if testing.Short() {
		t.Skip("86 million packets")
	}
	for _, c := range []struct {
		flags       string
		packets     int
		window      float64 // in packets
		each        time.Duration
		least, most float64 // bytes of a packet
	}{
		{"--window 500ms", 2e6, 500e3, time.Microsecond, 29, 36},
		{"--window 130ms", 520e3, 130e3, time.Microsecond, 29, 36},
		{"--window 1s --fpr 1e-9", 4e6, 1e6, time.Microsecond, 10, 12},
		{"--window 500ms --fpr 1e-6", 2e6, 500e3, time.Microsecond, 8, 9},
		{"--window 1m --fpr 1e-9", 62e6, 60e6, time.Microsecond, 719e6 / 60e6, 722e6 / 60e6},
		{"--window landmark:1h", 14.4e6, 3.6e6, time.Millisecond, (128 << 20) / 3.6e6, (128 << 20) / 3.6e6},
	} {
		got := runSteady(t, c.flags, c.packets, c.each)
		if each := float64(got.MemoryBytes) / c.window; each < c.least || each > c.most {
			t.Errorf("%s: %.2f bytes a packet of the window, want %.2f to %.2f", c.flags, each, c.least, c.most)
		}
		if got.EvictedLive > uint64(c.packets)/50_000+20 {
			t.Errorf("%s: %d of %d packets are forgotten too early", c.flags, got.EvictedLive, c.packets)
		}
	}
}

// TestManualVerified holds how many new packets sbf takes for copies in windows.md, and that a table
// verifies none.
func TestManualVerified(t *testing.T) {
	if testing.Short() {
		t.Skip("8 million packets")
	}
	const packets, flags = 4_000_000, "--window none --method sbf --memory 1MiB"
	got := runSteady(t, flags, packets, time.Microsecond)
	if share := float64(got.Duplicates) / packets; math.Abs(share-0.006) > 0.0003 || share > got.PredictedFPR {
		t.Errorf("%.4f of the new packets are taken for copies, at most %.4f by prediction", share, got.PredictedFPR)
	}
	if got := runSteady(t, flags+" --verify-copies 4MiB", packets, time.Microsecond); got.Duplicates != 0 {
		t.Errorf("%d of them with a table", got.Duplicates)
	}
}

// runSteady returns the summary of a run on a stream of new packets. Its key is fixed: how many packets
// share a line, and are forgotten too early, varies by more than their root.
func runSteady(t *testing.T, flags string, packets int, each time.Duration) dedup.Summary {
	t.Helper()
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	written := make(chan error, 1)
	go func() { written <- writeSteady(fifo, packets, each) }()
	got := clitest.RunDedup(t, cli.ExitDone, append(strings.Fields(flags), "--key", strings.Repeat("5a", 32), fifo)...)
	if err := <-written; err != nil || got.PacketsIn != uint64(packets) {
		t.Fatalf("%s: %+v, %v", flags, got, err)
	}
	return got
}

// writeSteady writes a pcap file of new packets.
func writeSteady(name string, packets int, each time.Duration) error {
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	le := binary.LittleEndian
	_, _ = w.Write(le.AppendUint32([]byte("\x4d\x3c\xb2\xa1\x02\x00\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff\x00\x00"), 1))
	ip := append([]byte("\x02\x00\x00\x00\x00\x01\x02\x00\x00\x00\x00\x02\x08\x00\x45\x00\x00\x1c\x00\x01\x00\x00\x40\x11\x00\x00"), make([]byte, 16)...)
	var head []byte
	for i := range packets {
		at := time.Duration(i) * each
		head = le.AppendUint32(le.AppendUint32(head[:0], uint32(1_700_000_000+at/time.Second)), uint32(at%time.Second))
		head = le.AppendUint32(le.AppendUint32(head, uint32(len(ip))), uint32(len(ip)))
		_, _ = w.Write(head)
		binary.BigEndian.PutUint32(ip[26:], uint32(i))
		_, _ = w.Write(ip) // Flush returns the first error
	}
	return errors.Join(w.Flush(), f.Close())
}
