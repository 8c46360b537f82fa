// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/flowdedup/flowdedup/bench/workload"
)

func TestUsage(t *testing.T) {
	tests := []struct {
		name string
		args []string
		want error
	}{
		{"no output", nil, errUsage},
		{"argument", []string{"-o", "-", "more"}, errUsage},
		{"unknown flag", []string{"-x"}, errUsage},
		{"size", []string{"-o", "-", "-size", "big"}, errUsage},
		{"size -1", []string{"-o", "-", "-size", "-1"}, errUsage},
		{"size 0", []string{"-o", "-", "-size", "0"}, errUsage},
		{"format", []string{"-o", "-", "-format", "erf"}, errUsage},
		{"no packets", []string{"-o", "-", "-packets", "0"}, workload.ErrConfig},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if err := run(test.args); !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
		})
	}
}

func TestRun(t *testing.T) {
	dir := t.TempDir()
	capture, answer, list := filepath.Join(dir, "a.pcapng"), filepath.Join(dir, "a.json"), filepath.Join(dir, "a.csv")
	args := []string{"-packets", "1000", "-size", "64", "-ipv6", "0", "-format", "pcapng",
		"-o", capture, "-truth", answer, "-copies", list}
	if err := run(args); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(answer)
	if err != nil {
		t.Fatal(err)
	}
	var truth workload.Truth
	if err := json.Unmarshal(text, &truth); err != nil {
		t.Fatal(err)
	}
	// Each frame has 64 bytes, and four more where it was tagged.
	if want := 64*1000 + 4*truth.Kinds["vlan"]; truth.Packets != 1000 || truth.Bytes != want {
		t.Errorf("%d packets of %d bytes, want 1000 of %d", truth.Packets, truth.Bytes, want)
	}
	copies, err := os.ReadFile(list)
	if want := 1 + int(truth.Duplicates+truth.Kinds["repeat"]); err != nil || bytes.Count(copies, []byte("\n")) != want {
		t.Errorf("list of %d bytes (%v), want %d lines", len(copies), err, want)
	}
	info, err := os.Stat(capture)
	if err != nil || info.Size() < truth.Bytes {
		t.Errorf("capture of %v bytes (%v), want more than %d", info, err, truth.Bytes)
	}
}
