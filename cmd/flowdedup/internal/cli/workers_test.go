// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	xbpf "golang.org/x/net/bpf"

	"github.com/flowdedup/flowdedup/bench/workload"
	"github.com/flowdedup/flowdedup/capture/identity"
	"github.com/flowdedup/flowdedup/capture/keys"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/count"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/dedup"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/distinct"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/input"
	"github.com/flowdedup/flowdedup/engine/distinct/windows"
	"github.com/flowdedup/flowdedup/engine/window"
)

// workersInput is a list of inputs and the size of its batches.
type workersInput struct {
	names []string
	chunk int
}

// workersInputs are all shared captures, the hostile among them, several together, and
// generated streams. Batches are so small that workers get many.
func workersInputs(t *testing.T) (all []workersInput) {
	t.Helper()
	for _, format := range []workload.Format{workload.Pcap, workload.PcapNG} {
		c := workload.Default()
		c.Packets, c.Format, c.Seed = 5000, format, 7
		var b bytes.Buffer
		if _, err := workload.Generate(&b, c); err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(t.TempDir(), "stream")
		if err := os.WriteFile(name, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		all = append(all, workersInput{[]string{name}, 8 << 10})
	}
	if testing.Short() {
		return all
	}
	dir := clitest.SharedDir(t)
	for _, pattern := range []string{"*.pcap*", "hostile/*.pcap*"} {
		names, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil || len(names) == 0 {
			t.Fatalf("no captures in %s: %v", dir, err)
		}
		for i, name := range names {
			chunk := max(4096, int(clitest.FileSize(t, name)/100))
			all = append(all, workersInput{[]string{name}, chunk})
			if i > 0 && i%10 == 0 {
				all = append(all, workersInput{[]string{name, names[i-1]}, chunk})
			}
		}
	}
	return all
}

// TestWorkers compares the output of several numbers of workers, byte by byte.
func TestWorkers(t *testing.T) {
	for _, in := range workersInputs(t) {
		t.Run(filepath.Base(in.names[0]), func(t *testing.T) {
			for what, run := range map[string]func(*testing.T, workersInput, int) string{
				"dedup": dedupText, "conditions": conditionText, "distinct": distinctText, "sliding": slidingText,
			} {
				want := run(t, in, 1)
				for _, workers := range clitest.Sample(3, []int{2, 3, 8, 40}) {
					if got := run(t, in, workers); got != want {
						t.Errorf("%s: %d workers: %.600s\nwant %.600s", what, workers, got, want)
					}
				}
			}
		})
	}
}

// options returns options that collect warnings.
func (in workersInput) options(warnings *bytes.Buffer) input.Options {
	return input.Options{ChunkSize: in.chunk, Warn: func(err error) { fmt.Fprintln(warnings, err) }}
}

// dedupText returns everything that a run of dedup prints and writes.
func dedupText(t *testing.T, in workersInput, workers int) string {
	return dedupTextOf(t, in, workers, func(*dedup.Config) {})
}

// conditionText does the same with groups and conditions. They need no compiler, which
// takes its time.
func conditionText(t *testing.T, in workersInput, workers int) string {
	return dedupTextOf(t, in, workers, func(c *dedup.Config) {
		c.Within = []string{"vlan"}
		var only, protect input.Condition
		only.Filter.Program = []xbpf.RawInstruction{{Op: 0x80}, {Op: 0x54, K: 3}, {Op: 0x15, Jt: 1}, {Op: 6, K: 1}, {Op: 6}} // of a length that 4 does not divide
		protect.Input = in.names[0]
		if len(in.names) == 1 {
			protect.Input, protect.Interface = "", "eth0"
		}
		c.Only, c.Protect = []input.Condition{only, protect}, []input.Condition{protect}
	})
}

func dedupTextOf(t *testing.T, in workersInput, workers int, change func(*dedup.Config)) string {
	t.Helper()
	var warnings bytes.Buffer
	output := filepath.Join(t.TempDir(), "out")
	cfg := dedup.Config{
		Inputs: in.names, Input: in.options(&warnings), Output: output,
		Identity: identity.Config{Kind: identity.L3},
		Digest:   "aes", Method: "auto", Window: window.Window{Duration: time.Millisecond},
		Across: len(in.names) > 1, Workers: workers, Log: slog.New(slog.DiscardHandler),
	}
	change(&cfg)
	summary, err := dedup.Run(context.Background(), cfg)
	summary.Took, summary.PacketsPerSecond = 0, 0
	printed, jsonErr := json.Marshal(summary)
	if jsonErr != nil {
		t.Fatal(jsonErr)
	}
	written, readErr := os.ReadFile(output)
	if err == nil && readErr != nil {
		t.Fatal(readErr)
	}
	return fmt.Sprintf("%s\n%v\n%s%d bytes: %x", printed, err, &warnings, len(written), sha256.Sum256(written))
}

// distinctText does the same for distinct counts.
func distinctText(t *testing.T, in workersInput, workers int) string {
	t.Helper()
	var warnings, printed bytes.Buffer
	encoder := json.NewEncoder(&printed)
	cfg := distinctConfig(in, workers, &warnings, encoder)
	cfg.Calendar.Every = time.Minute
	cfg.FirstSeen = func(s *count.First) error { return encoder.Encode(s.Sighting()) }
	result, err := distinct.Run(context.Background(), cfg)
	return fmt.Sprintf("%+v\n%v\n%s%s", result, err, &warnings, &printed)
}

// slidingText does the same for windows that slide.
func slidingText(t *testing.T, in workersInput, workers int) string {
	t.Helper()
	var warnings, printed bytes.Buffer
	cfg := distinctConfig(in, workers, &warnings, json.NewEncoder(&printed))
	cfg.Window, cfg.Slide = time.Minute, 5*time.Second
	result, err := distinct.Run(context.Background(), cfg)
	return fmt.Sprintf("%+v\n%v\n%s%s", result, err, &warnings, &printed)
}

func distinctConfig(in workersInput, workers int, warnings *bytes.Buffer, encoder *json.Encoder) distinct.Config {
	return distinct.Config{
		Inputs: in.names, Input: in.options(warnings), Workers: workers,
		Config: count.Config{
			Keys:   []keys.Config{{Kind: keys.Src}, {Kind: keys.Flow}, {Kind: keys.MACs}},
			Config: windows.Config{Method: "auto", FPR: 1e-9},
			Rows:   func(rows []count.Row) error { return encoder.Encode(rows) },
		},
	}
}
