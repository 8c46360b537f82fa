// SPDX-License-Identifier: Apache-2.0

package dedup_test

import (
	"bytes"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// written counts the packets of a capture file by the names of their interfaces, and their
// bytes. It checks that their times do not step back.
func written(t *testing.T, name string) (packets map[string]uint64, bytes uint64) {
	t.Helper()
	src, err := pcapfile.Open(name, pcapfile.Options{Warn: func(err error) { t.Error(err) }})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	packets = map[string]uint64{}
	last := int64(capture.NoTime)
	for b := (capture.Batch{}); src.Next(&b) == nil; {
		for i := range b.Frames {
			f := &b.Frames[i]
			packets[b.Interfaces[f.Interface].Name]++
			bytes += uint64(f.CapLen)
			if f.Time < last {
				t.Errorf("%s: time steps back", name)
			}
			last = f.Time
		}
	}
	return packets, bytes
}

// TestHeldCounts counts written packets, and not the first ones: packets, their bytes and
// inputs, for each way to choose.
func TestHeldCounts(t *testing.T) {
	t.Parallel()
	in, out := clitest.Bundled("router-in.pcap"), clitest.Bundled("router-out.pcap")
	for name, c := range map[string]struct{ choice, filter []string }{
		"flow":            {[]string{"--keep", "flow"}, nil},
		"prefer":          {[]string{"--prefer", "input " + out}, nil},
		"prefer and flow": {[]string{"--keep", "flow", "--prefer", "input " + out, "--hold", "500us"}, nil},
		"packets":         {[]string{"--keep", "flow"}, []string{"--window", "n:1000"}},
		"no window":       {[]string{"--keep", "flow", "--hold", "1ms"}, []string{"--window", "none"}},
		"refresh":         {[]string{"--keep", "flow"}, []string{"--refresh"}},
		"across":          {[]string{"--keep", "flow"}, []string{"--across"}},
	} {
		t.Run(name, func(t *testing.T) {
			first := clitest.RunDedup(t, cli.ExitDone, append([]string{in, out}, c.filter...)...)
			var before []byte
			for workers := 1; workers <= 3; workers++ {
				dir := t.TempDir()
				kept, removed := filepath.Join(dir, "kept.pcapng"), filepath.Join(dir, "removed.pcapng")
				args := append([]string{in, out, "-w", kept, "--duplicates", removed, "--workers", strconv.Itoa(workers)}, slices.Concat(c.choice, c.filter)...)
				r := clitest.RunDedup(t, cli.ExitDone, args...)
				packets, size := written(t, kept)
				copies, _ := written(t, removed)
				if r.Duplicates != first.Duplicates || r.HeldBytes == nil || *r.HeldBytes == 0 || r.HeldEarly == nil || *r.HeldEarly != 0 {
					t.Errorf("%+v, want %+v", r, first)
				}
				if size != r.BytesOut {
					t.Errorf("%d bytes were written, and %d counted", size, r.BytesOut)
				}
				for i, name := range []string{"router-in.pcap", "router-out.pcap"} {
					if copies[name] != r.Inputs[i].Duplicates || packets[name] != r.Inputs[i].Packets-r.Inputs[i].Duplicates {
						t.Errorf("%s: %d packets written, %d removed, counted %+v", name, packets[name], copies[name], r.Inputs[i])
					}
				}
				if slices.Contains(c.choice, "--prefer") && r.Inputs[1].Duplicates > 10 {
					t.Errorf("%d packets of the preferred input were removed", r.Inputs[1].Duplicates)
				}
				now := clitest.ReadFile(t, kept)
				if before != nil && !bytes.Equal(now, before) {
					t.Errorf("%d workers write another file", workers)
				}
				before = now
			}
		})
	}
}
