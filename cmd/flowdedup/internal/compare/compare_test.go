// SPDX-License-Identifier: Apache-2.0

package compare_test

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

func TestMain(m *testing.M) { clitest.Main(m, nil) }

func TestScripts(t *testing.T) { clitest.Scripts(t) }

// frame returns a packet of 64 bytes with a number.
func frame(number int) []byte {
	b := append([]byte("\x02\x00\x00\x00\x00\x01\x02\x00\x00\x00\x00\x02\x08\x00\x45\x00\x00\x32\x00\x00\x00\x00\x40\x11\x00\x00\x0a\x00\x00"),
		byte(number%7), 10, 1, 0, 1, 0, 99, 0, 53, 0, 30, 0, 0)
	return append(b, byte(number>>24), byte(number>>16), byte(number>>8), byte(number), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
}

// frames writes a capture of packets with these numbers and times.
func frames(t *testing.T, name string, numbers []int, times []int64) string {
	t.Helper()
	var b capture.Batch
	b.AppendInterface(capture.Interface{LinkType: capture.LinkEthernet, SnapLen: 65535})
	for i, n := range numbers {
		b.Append(capture.Frame{Time: times[i]}, frame(n))
	}
	return clitest.WriteInput(t, name, clitest.Encoded(t, &b))
}

// tap makes a capture, and what a tap saw of it: without 1,000 packets, by a clock that is
// shift nanoseconds and 20 ppm wrong.
func tap(t *testing.T, shift int64) (a, b string, removed []int) {
	t.Helper()
	const n, start, apart = 30_000, 1_700_000_000_000_000_000, 500_000
	r := rand.New(rand.NewPCG(7, 8))
	gone := map[int]bool{}
	for len(gone) < 1000 {
		gone[1+r.IntN(n-1)] = true
	}
	var all, left []int
	var times, late []int64
	for i := range n {
		at := int64(i)*apart + r.Int64N(apart)
		if i == 0 {
			at = 0
		}
		all, times = append(all, i), append(times, start+at)
		if gone[i] {
			removed = append(removed, i)
			continue
		}
		left, late = append(left, i), append(late, start+at+shift+at*20/1_000_000)
	}
	dir := t.TempDir()
	return frames(t, filepath.Join(dir, "a.pcap"), all, times), frames(t, filepath.Join(dir, "b.pcapng"), left, late), removed
}

// TestCompareTap finds the packets that a tap has lost, and how wrong its clock is.
func TestCompareTap(t *testing.T) {
	t.Parallel()
	for _, shift := range []int64{3_700_000_000, -3 * 3600 * 1_000_000_000} {
		a, b, removed := tap(t, shift)
		onlyA, onlyB := filepath.Join(t.TempDir(), "only-a.pcap"), filepath.Join(t.TempDir(), "only-b.pcap")
		r, errs := clitest.RunCompare(t, cli.ExitDifferent, a, b, "--only-a", onlyA, "--only-b", onlyB)
		if r.OnlyA != 1000 || r.OnlyB != 0 || math.Abs(float64(*r.OffsetNS-shift)) > 1000 || math.Abs(*r.DriftPPM-20) > 0.01 || r.DelayNS.Max > 1000 {
			t.Errorf("shift %d: %+v, offset %d, drift %v, delays %+v", shift, r, *r.OffsetNS, *r.DriftPPM, r.DelayNS)
		}
		if far := strings.Contains(errs, "the clocks are -3h0m0s apart"); far != (shift < -60_000_000_000) || !far && errs != "" {
			t.Errorf("shift %d: %s", shift, errs)
		}
		var lost []int
		clitest.WritePart(t, os.DevNull, onlyA, func(_ int, b *capture.Batch, i int) bool {
			d := b.Data(i)[42:]
			lost = append(lost, int(d[0])<<24|int(d[1])<<16|int(d[2])<<8|int(d[3]))
			return true
		})
		if !slices.Equal(lost, removed) || len(clitest.WritePart(t, os.DevNull, onlyB, func(int, *capture.Batch, int) bool { return true })) != 0 {
			t.Errorf("shift %d: %d packets written, not those that were removed", shift, len(lost))
		}
	}
}
