// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/bench/workload"
)

// generate writes a capture, and returns its known content.
func generate(t *testing.T, name string, c workload.Config) workload.Truth {
	t.Helper()
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	truth, err := workload.Generate(file, c)
	if err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	return truth
}

// TestCounts compares both jobs with the known content of a capture.
func TestCounts(t *testing.T) {
	c := workload.Default()
	c.Packets, c.Flows = 20_000, 3000
	name := filepath.Join(t.TempDir(), "a.pcap")
	truth := generate(t, name, c)
	var hours strings.Builder
	for _, h := range truth.Hours {
		fmt.Fprintf(&hours, "%s %d %d %d\n", h.Start.Format(time.RFC3339),
			h.IPv4.Src+h.IPv6.Src, h.IPv4.Dst+h.IPv6.Dst, h.IPv4.Flow+h.IPv6.Flow)
	}
	for job, want := range map[string]string{
		"dedup":    fmt.Sprintf("%d packets, %d copies\n", truth.Packets, truth.Duplicates),
		"distinct": hours.String(),
	} {
		var got strings.Builder
		if err := run([]string{job, name}, &got); err != nil || got.String() != want {
			t.Errorf("%s: got %q (%v), want %q", job, got.String(), err, want)
		}
	}
}

// TestClean writes the packets that are no copies: in the output none is found.
func TestClean(t *testing.T) {
	dir := t.TempDir()
	name, cleaned := filepath.Join(dir, "a.pcapng"), filepath.Join(dir, "b.pcap")
	c := workload.Default()
	c.Packets, c.Flows, c.Format = 5000, 300, workload.PcapNG
	truth := generate(t, name, c)
	if err := run([]string{"dedup", name, cleaned}, &strings.Builder{}); err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	want := fmt.Sprintf("%d packets, 0 copies\n", truth.Packets-truth.Duplicates)
	if err := run([]string{"dedup", cleaned}, &got); err != nil || got.String() != want {
		t.Errorf("got %q (%v), want %q", got.String(), err, want)
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{nil, {"dedup"}, {"count", "a.pcap"}, {"distinct", "a.pcap", "b.pcap"}, {"dedup", filepath.Join(t.TempDir(), "missing.pcap")}} {
		if err := run(args, &strings.Builder{}); err == nil {
			t.Errorf("%q: no error", args)
		}
	}
}
