// SPDX-License-Identifier: Apache-2.0

package dedup_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// cut writes a capture as files of n packets, as editcap -c does.
func cut(t *testing.T, name string, n int) (files []string) {
	t.Helper()
	base := filepath.Join(t.TempDir(), filepath.Base(name))
	for written := n; written == n; {
		file := fmt.Sprintf("%s-%03d", base, len(files))
		written = len(clitest.WritePart(t, file, name, func(number int, _ *capture.Batch, _ int) bool { return number/n == len(files) }))
		files = append(files, file)
	}
	return files
}

// TestKeepFlowRotated checks that conversations keep their point where a file of a rotated
// capture ends: what stays is the same as of the whole captures.
func TestKeepFlowRotated(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		captures []string
		packets  int // in a file; of more than 16 files only some are open at a time
		apart    bool
	}{
		{[]string{"router-ordered.pcapng"}, 100, false},
		{[]string{"router-ordered.pcapng"}, 100, true},
		{[]string{"router-ordered.pcapng"}, 30, false},
		{[]string{"router-in.pcap", "router-out.pcap"}, 40, false},
	} {
		dir := t.TempDir()
		var whole, parts []string
		for _, name := range c.captures {
			whole, parts = append(whole, clitest.Bundled(name)), append(parts, cut(t, clitest.Bundled(name), c.packets)...)
		}
		flags := []string{"--window", "50ms", "--hold", "50ms"}
		if c.apart {
			flags = append(flags, "--no-merge")
		}
		out, want := filepath.Join(dir, "parts"), filepath.Join(dir, "whole")
		clitest.RunDedup(t, cli.ExitDone, slices.Concat(flags, []string{"-w", want}, whole)...)
		text, errs, code := clitest.Run(slices.Concat([]string{"dedup", "--json", "-w", out}, flags, parts)...)
		var s struct {
			Split  uint64 `json:"split_conversations"`
			Inputs []struct{ Input string }
		}
		if err := json.Unmarshal([]byte(text), &s); err != nil || code != cli.ExitDone || errs != "" {
			t.Fatalf("%v: exit code %d, %v: %s", c, code, err, errs)
		}
		if s.Split != 0 || len(s.Inputs) != len(parts) || s.Inputs[1].Input != parts[1] {
			t.Errorf("%v: %d conversations in parts, %d inputs", c, s.Split, len(s.Inputs))
		}
		clitest.CompareRecords(t, fmt.Sprint(c), clitest.ReadAll(t, out), clitest.ReadAll(t, want))

		verify := slices.Concat([]string{"verify", "--window", "50ms", "--tolerance", "50ms", out}, flags[4:])
		for _, name := range parts {
			verify = append(verify, "-r", name)
		}
		if text, errs, code := clitest.Run(verify...); code != cli.ExitDone {
			t.Errorf("%v: exit code %d: %s%s", c, code, text, errs)
		}
	}
}
