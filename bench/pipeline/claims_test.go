// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/bench/workload"
)

// TestClaims runs the commands that count on a capture with a known answer: a time is
// worth nothing if the tool does something else. It skips missing tools.
func TestClaims(t *testing.T) {
	if testing.Short() {
		t.Skip("tools take seconds to start")
	}
	buildPrograms(t)
	dir := t.TempDir()
	truth := generateKnown(t, filepath.Join(dir, "known.pcap"))
	whole := func(count func(workload.Distinct) int64) int64 {
		return count(truth.Whole.IPv4) + count(truth.Whole.IPv6)
	}
	src := whole(func(d workload.Distinct) int64 { return d.Src })
	dst := whole(func(d workload.Distinct) int64 { return d.Dst })
	flow := whole(func(d workload.Distinct) int64 { return d.Flow })
	found := fmt.Sprintf(" %d duplicates ", truth.Duplicates)
	there := available(context.Background(), false)
	for name, want := range map[string]string{
		"dedup":        found,
		"dedup-one":    found,
		"dedup-all":    found,
		"dedup-write":  found,
		"editcap-time": fmt.Sprintf("%d packets skipped", truth.Kinds["exact"]), // sees no others
		"nfdump":       fmt.Sprintf("%d\n%d\n%d\n", src, dst, flow),
		"tshark-flows": fmt.Sprintf("%d\n", flow),
		"gopacket":     fmt.Sprintf(" %d copies\n", truth.Duplicates),
	} {
		for _, c := range there {
			if c.name != name || name == "gopacket" && c.job != "dedup" {
				continue
			}
			if got := printed(t, dir, c.line); !strings.Contains(strings.ReplaceAll(got, ",", ""), want) {
				t.Errorf("%s\nprints %q, want %q", c.line, got, want)
			}
		}
	}
}

// generateKnown writes a capture and returns its content.
func generateKnown(t *testing.T, name string) workload.Truth {
	t.Helper()
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	c := workload.Default()
	c.Packets, c.Size = 20_000, 64
	truth, err := workload.Generate(file, c)
	if err := errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
	return truth
}

// printed returns the output of a line, or its messages if it has none.
func printed(t *testing.T, dir, line string) string {
	t.Helper()
	out := filepath.Join(dir, "out")
	if err := os.RemoveAll(out); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(out, 0o777); err != nil {
		t.Fatal(err)
	}
	var messages strings.Builder
	shell := exec.Command("bash", "-o", "pipefail", "-c", line)
	shell.Dir, shell.Env, shell.Stderr = dir, append(os.Environ(), "IN=known.pcap"), &messages
	text, err := shell.Output()
	if err != nil {
		t.Fatalf("%s: %v: %s", line, err, messages.String())
	}
	if len(text) == 0 {
		return messages.String()
	}
	return string(text)
}
