// SPDX-License-Identifier: Apache-2.0

package dedup_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// TestVerifyCopies removes packets that have no equal one by a filter with many false positives,
// as verify finds, and none with a table.
func TestVerifyCopies(t *testing.T) {
	const in = "../../../../testdata/pcaps/router-ordered.pcapng"
	out := filepath.Join(t.TempDir(), "out.pcapng")
	usual := clitest.RunDedup(t, cli.ExitDone, in, "--window", "none", "--method", "exact", "-w", out).Duplicates
	const hasty = "--window none --method sbf --memory 64 --fpr 0.5 --key 00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff -w "
	removed := func(flags string) (duplicates, unverified, lost uint64) {
		args := append(strings.Fields("dedup --json "+in+" "+flags+" "+hasty), out)
		text, errs, code := clitest.Run(args...)
		var s struct{ Duplicates, Unverified uint64 }
		if err := json.Unmarshal([]byte(text), &s); err != nil || code != cli.ExitDone {
			t.Fatalf("%s: %d, %v: %s", flags, code, err, errs)
		}
		var checked struct{ Lost uint64 }
		text, errs, _ = clitest.Run("verify", "--json", "--window", "none", in, out)
		if err := json.Unmarshal([]byte(text), &checked); err != nil {
			t.Fatalf("verify %s: %v: %s", flags, err, errs)
		}
		return s.Duplicates, s.Unverified, checked.Lost
	}
	all, _, lost := removed("")
	if lost < 50 {
		t.Errorf("%d lost without a table: that tests nothing", lost)
	}
	duplicates, unverified, lost := removed("--verify-copies 1MiB")
	if lost != 0 || duplicates+unverified != all || duplicates > usual || duplicates < usual/2 {
		t.Errorf("%d duplicates, %d unverified, %d lost; %d by the filter, %d in all", duplicates, unverified, lost, all, usual)
	}
	if text, errs, code := clitest.Run("dedup", in, "--window", "none", "--method", "exact", "--verify-copies", "1MiB"); code != cli.ExitUsage {
		t.Errorf("%d, %s%s", code, text, errs)
	}
}

// TestVerifyUndecidable puts truncated frames without IP between two equal packets: a window of
// packets does not count them, here and in verify.
func TestVerifyUndecidable(t *testing.T) {
	at := time.Date(2026, 3, 28, 21, 0, 0, 0, time.UTC).UnixNano()
	seen := func(wire uint32, data []byte) clitest.Seen {
		return clitest.Seen{Record: clitest.Record{Time: at, Wire: wire, Data: string(data)}}
	}
	whole := clitest.UDPFrame(1, 1)
	for _, typ := range [][]byte{{0x88, 0xa2}, {0x88, 0xcc}, {0x08, 0x06}, {0x88, 0xb8}, {0x82, 0x00}} {
		stream := []clitest.Seen{seen(uint32(len(whole)), whole)}
		for i := range 6 {
			stream = append(stream, seen(1060, append(append([]byte{2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1}, typ...), 0, byte(i), 4, 0)))
		}
		stream = append(stream, stream[0])
		in, out := clitest.WriteStream(t, stream, 1), filepath.Join(t.TempDir(), "out.pcapng")
		if n := clitest.RunDedup(t, cli.ExitDone, in, "--window", "n:3", "-w", out).Duplicates; n > 1 {
			t.Errorf("type %x: %d duplicates", typ, n)
		}
		if text, errs, code := clitest.Run("verify", "--window", "n:3", in, out); code != cli.ExitDone {
			t.Errorf("type %x: %d, %s%s", typ, code, text, errs)
		}
	}
}
