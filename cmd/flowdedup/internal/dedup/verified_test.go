// SPDX-License-Identifier: Apache-2.0

package dedup_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

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
