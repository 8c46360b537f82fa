// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestExports has flowdedup read what writeExports has made: half of it is copies, and nothing is lost.
func TestExports(t *testing.T) {
	buildPrograms(t)
	dir := t.TempDir()
	for _, k := range exportKinds {
		if err := writeExports(filepath.Join(dir, "known.pcap"), k.name, 1000); err != nil {
			t.Fatal(err)
		}
		got := printed(t, dir, "flowdedup flows --json $IN")
		for _, want := range []string{`"records_in":2000,`, `"duplicates":1000,`, `"lost":0,`, `"undecodable":0,`} {
			if !strings.Contains(got, want) {
				t.Errorf("%s: no %s in %s", k.name, want, got)
			}
		}
	}
}

// TestFlows measures all commands on flow records that are there, collectors too.
func TestFlows(t *testing.T) {
	if testing.Short() {
		t.Skip("collectors wait for seconds")
	}
	buildPrograms(t)
	dir := t.TempDir()
	var out strings.Builder
	if err := run(context.Background(), []string{"-flows", "-quick", "-dir", dir}, &out); err != nil {
		t.Fatal(err)
	}
	for _, c := range available(context.Background(), true) {
		if !strings.Contains(out.String(), "/command="+c.name+" 1 ") {
			t.Errorf("no result of %s", c.line)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v (%v)", left, err)
	}
}
