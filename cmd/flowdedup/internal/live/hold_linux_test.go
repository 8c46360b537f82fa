// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/bench/lab/wait"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/afpacket"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// Frames of a conversation whose home is VLAN 10.
var (
	heldFirst = clitest.Frame{ID: 1, Src: 1, TTL: 64, VLAN: 10}
	heldAway  = clitest.Frame{ID: 2, Src: 1, TTL: 64, VLAN: 20}
	heldHome  = clitest.Frame{ID: 2, Src: 1, TTL: 63, VLAN: 10}
	heldAlone = clitest.Frame{ID: 3, Src: 1, TTL: 64, VLAN: 20}
)

// TestLiveHoldLeaves forwards packets that wait for better copies when they have waited
// long enough, though no packet comes after them.
func TestLiveHoldLeaves(t *testing.T) {
	t.Parallel()
	for _, workers := range []string{"1", "2"} {
		t.Run(workers+" workers", func(t *testing.T) {
			clitest.Lab(t, "left right", "out sensor")
			sensor, err := afpacket.Open(afpacket.Config{Interfaces: []string{"sensor"}, RingBytes: 1 << 20, BlockBytes: 64 << 10, Idle: 10 * time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			defer sensor.Close()
			r := startLive(t, "-i", "left", "--forward", "out", "--keep", "flow", "--window", "1s", "--hold", "500ms", "--workers", workers, "--json")
			var got []string
			var b capture.Batch
			for _, step := range [][]clitest.Frame{{heldFirst}, {heldAway, heldHome}, {heldAlone}} {
				clitest.SendTo(t, "right", step...)
				wait.Until(t, "a packet", func() bool {
					before := len(got)
					if err := sensor.Next(&b); err != nil {
						t.Fatal(err)
					}
					for i := range b.Frames {
						got = append(got, string(b.Data(i)))
					}
					return len(got) > before
				})
			}
			s := r.stop()
			if s.PacketsIn != 4 || s.Duplicates != 1 || !slices.Equal(got, heldKept()) {
				t.Errorf("%+v, forwarded %q", s, got)
			}
		})
	}
}

func heldKept() []string {
	return []string{string(heldFirst.Bytes()), string(heldHome.Bytes()), string(heldAlone.Bytes())}
}

// TestLiveHoldEnds writes what waits when the run ends, whatever ends it.
func TestLiveHoldEnds(t *testing.T) {
	t.Parallel()
	run := func(t *testing.T, out string, flags ...string) liveSummary {
		args := []string{"-i", "left", "-w", out, "--keep", "flow", "--window", "1h", "--memory", "1MiB", "--hold", "1h", "--json"}
		r := startLive(t, append(args, flags...)...)
		clitest.SendTo(t, "right", heldFirst, heldAway, heldHome, heldAlone)
		if flags == nil {
			return r.finish()
		}
		return r.end(cli.ExitDone)
	}
	for name, flags := range map[string][]string{"signal": nil, "count": {"--count", "4"}, "duration": {"--duration", "1s"}} {
		t.Run(name, func(t *testing.T) {
			clitest.Lab(t, "left right")
			out := filepath.Join(t.TempDir(), "out.pcapng")
			s := run(t, out, flags...)
			for span := 2 * time.Second; name == "duration" && s.PacketsIn < 4 && span < wait.Timeout; span *= 2 {
				// The packets were sent too late, so the run has to be longer.
				out = filepath.Join(t.TempDir(), "out.pcapng")
				s = run(t, out, "--duration", span.String())
			}
			if got := clitest.FramesOf(t, out); !slices.Equal(got, heldKept()) {
				t.Errorf("wrote %q: %+v", got, s)
			}
		})
	}
}

// TestLiveIntact keeps the copy whose checksum is not wrong, and goes on counting after a
// restart. All wait until the run ends.
func TestLiveIntact(t *testing.T) {
	t.Parallel()
	clitest.Lab(t, "left right")
	dir := t.TempDir()
	for run := range 3 {
		out := filepath.Join(t.TempDir(), "out.pcap")
		flags := []string{"-i", "left", "-w", out, "--ignore", "l4-checksum", "--window", "1h", "--hold", "1h", "--state", filepath.Join(dir, "state"), "--json"}
		r := startLive(t, flags...)
		frame := clitest.Frame{ID: uint16(1 + run), Src: 1, TTL: 64}
		wrong := frame.Bytes()
		wrong[14+20+6] = 1
		frame.TTL--
		clitest.SendBytes(t, "right", wrong, frame.Bytes())
		s := r.finish()
		if got := clitest.FramesOf(t, out); !slices.Equal(got, []string{string(frame.Bytes())}) || s.Duplicates != uint64(1+run) {
			t.Errorf("run %d: %q, %+v", run, got, s)
		}
		if s.ChecksumPreferred == nil || *s.ChecksumPreferred != uint64(1+run) || s.WholePreferred == nil {
			t.Errorf("run %d: %+v", run, s)
		}
	}
}
