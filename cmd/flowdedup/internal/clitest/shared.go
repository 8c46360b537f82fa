// SPDX-License-Identifier: Apache-2.0

package clitest

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
)

// SharedDir is the folder of captures with independent Answers. It lies next to the project,
// not in it.
func SharedDir(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("FLOWDEDUP_SHARED")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "..", "..", "shared", "pcaps")
	}
	if _, err := os.Stat(filepath.Join(dir, "oracle_py.json")); errors.Is(err, fs.ErrNotExist) {
		t.Skipf("no shared captures in %s (set FLOWDEDUP_SHARED)", dir)
	}
	return dir
}

// Sets are an oracle's distinct counts of a file or an hour.
type Sets struct {
	Packets  uint64
	IP4Src   uint64 `json:"ip4_src"`
	IP4Dst   uint64 `json:"ip4_dst"`
	IP6Src   uint64 `json:"ip6_src"`
	IP6Dst   uint64 `json:"ip6_dst"`
	Src, Dst uint64
	Uni      uint64 `json:"tuples_uni"`
	Bi       uint64 `json:"tuples_bi"`
}

// Answers are what an oracle says of a file.
type Answers struct {
	Packets       uint64
	CapturedBytes uint64  `json:"captured_bytes"`
	Truncated     uint64  `json:"truncated_packets"`
	NoTimestamp   uint64  `json:"no_timestamp"`
	BackwardSteps uint64  `json:"backward_steps"`
	Error         *string // why reading ended early
	NotDecoded    []int   `json:"linktypes_not_decoded"`
	Hours         map[string]Sets
	Duplicates    map[string]struct {
		Inf          uint64
		AnchoredLast map[string]uint64 `json:"anchored_last"`
		SlidingAbs   map[string]uint64 `json:"sliding_abs"`
	}
}

// ReadAnswers returns the answers of an oracle by file.
func ReadAnswers(t *testing.T, path string) map[string]Answers {
	t.Helper()
	var doc struct{ Files map[string]Answers }
	data := ReadFile(t, path)
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	return doc.Files
}

// ExitOf is the exit code that a file with this answer must give.
func ExitOf(a Answers) int {
	switch {
	case a.Error == nil:
		return cli.ExitDone
	case a.Packets == 0:
		return cli.ExitFailed
	}
	return cli.ExitDamaged
}

// SharedFiles returns the Answers to all shared captures, and the names of the captures to read.
func SharedFiles(t *testing.T, dir string) (map[string]Answers, []string) {
	t.Helper()
	files := ReadAnswers(t, filepath.Join(dir, "oracle_py.json"))
	names := make([]string, 0, len(files))
	for name, a := range files {
		names = append(names, name)
		if name == BeyondSecond {
			a.NoTimestamp = a.Packets
			files[name] = a
		}
	}
	slices.Sort(names)
	return files, Sample(6, names)
}

// BeyondSecond is a capture whose times have a fraction of a second and more. They are no
// times here.
const BeyondSecond = "ndpi__pcap_fuzz-2021-10-13.pcap"

// MoreCopies are copies without IP that the independent parser does not find, because it
// compares such frames whole; by file.
var MoreCopies = map[string]struct {
	Inf                      uint64
	AnchoredLast, SlidingAbs map[string]uint64
}{
	// Gratuitous ARP of one station, padded with other bytes from time to time.
	"pcapparser__wireshark_samples-test.pcapng": {1, map[string]uint64{"60": 17}, map[string]uint64{"60": 33}},
}
