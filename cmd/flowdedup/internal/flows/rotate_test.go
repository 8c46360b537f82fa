// SPDX-License-Identifier: Apache-2.0

package flows_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// TestFlowsRotate has the records of one output in several files, none of them twice. Files
// of CSV have the header each.
func TestFlowsRotate(t *testing.T) {
	t.Parallel()
	var lines strings.Builder
	for n := range 300 {
		start := 1_700_000_000_000_000_000 + int64(n)*10_000_000_000
		for point := range 2 {
			fmt.Fprintf(&lines, `{"type":"IPFIX","sampler_address":"192.0.2.%d","time_flow_start_ns":%d,"time_flow_end_ns":%d,"bytes":80,"packets":1,"src_addr":"10.0.0.%d","dst_addr":"10.0.1.1","proto":17,"src_port":53,"dst_port":%d}`+"\n",
				point, start, start+1000, n%250, n)
		}
	}
	in := tempFile(t, "in.json", lines.String())
	for _, ending := range []string{".ndjson", ".csv"} {
		dir := t.TempDir()
		whole := filepath.Join(dir, "whole"+ending)
		runFlows(t, cli.ExitDone, in, "-w", whole)
		want := string(mustReadFile(t, whole))
		header := ""
		if ending == ".csv" {
			header, want, _ = strings.Cut(want, "\n")
			header += "\n"
		}
		for flags, least := range map[string]int{"--rotate-every 15m": 3, "--rotate-size 10KiB": 5, "--rotate-size 10KiB --rotate-every 15m": 6} {
			stem := fmt.Sprint("least", least)
			r, stderr := runFlows(t, cli.ExitDone, append(strings.Fields(flags), in, "-w", filepath.Join(dir, stem+ending))...)
			files, got := clitest.RotatedFiles(t, dir, stem), ""
			for _, name := range files {
				body, ok := strings.CutPrefix(string(mustReadFile(t, name)), header)
				if !ok {
					t.Errorf("%s has no header", name)
				}
				got += body
			}
			if got != want || len(files) < least || r.RecordsOut != 300 {
				t.Errorf("%s: %d files with %d of %d bytes: %s", flags, len(files), len(got), len(want), stderr)
			}
		}
		runFlows(t, cli.ExitDone, in, "-w", filepath.Join(dir, "few"+ending), "--rotate-size", "10KiB", "--rotate-keep", "2")
		if files := clitest.RotatedFiles(t, dir, "few"); len(files) != 2 {
			t.Errorf("%q", files)
		}
	}
}
