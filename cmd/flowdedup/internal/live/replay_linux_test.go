// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// replayable returns the captured bytes of packets that can be sent.
func replayable(t *testing.T, names []string) (frames [][]byte) {
	t.Helper()
	mostReplayed := 400 // of each capture
	if testing.Short() {
		mostReplayed = 50
	}
	for _, name := range names {
		src, err := pcapfile.Open(name, pcapfile.Options{Warn: func(error) {}})
		if err != nil {
			continue // captures that are damaged from the beginning
		}
		n := 0
		for b := (capture.Batch{}); n < mostReplayed && src.Next(&b) == nil; {
			for i := range b.Frames {
				if f := b.Data(i); n < mostReplayed && b.Interfaces[b.Frames[i].Interface].LinkType == capture.LinkEthernet && sendable(f) {
					frames = append(frames, slices.Clone(f))
					n++
				}
			}
		}
		if err := src.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return frames
}

// sendable reports whether the kernel takes a frame and delivers it. It drops frames that
// end within a VLAN tag or right behind it.
func sendable(f []byte) bool {
	const head, tag, most = 14, 6, 65535
	switch {
	case len(f) < head || len(f) > most:
		return false
	case f[12] == 0x81 && f[13] == 0 || f[12] == 0x88 && f[13] == 0xA8:
		return len(f) >= head+tag
	}
	return true
}

// pcapOf writes a capture of Ethernet frames, each a microsecond after the one before.
func pcapOf(t *testing.T, frames [][]byte) string {
	t.Helper()
	p := clitest.NewPcap(uint32(capture.LinkEthernet))
	for i, f := range frames {
		p.Add(1e9+int64(i)*1000, f)
	}
	return p.Write(t, "replayed.pcap")
}

// TestLiveReplay replays captures. The run keeps the same packets as dedup, and finds the
// same copies and counts as dedup and distinct.
func TestLiveReplay(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("tcpreplay"); err != nil {
		t.Skip("no tcpreplay(1): ", err)
	}
	t.Run("bundled", func(t *testing.T) { replay(t, clitest.Bundled("*.pcap*")) })
	t.Run("shared", func(t *testing.T) { replay(t, filepath.Join(clitest.SharedDir(t), "*.pcap*")) })
}

func replay(t *testing.T, captures string) {
	clitest.Lab(t, "left right")
	for _, name := range []string{"left", "right"} {
		clitest.IP(t, "link set "+name+" mtu 65535")
	}
	names, err := filepath.Glob(captures)
	if err != nil {
		t.Fatal(err)
	}
	frames := replayable(t, names)
	file := pcapOf(t, frames)
	var runs []*replayRun
	for _, c := range replays {
		r := &replayRun{identity: c.identity, of: c.of, files: c.files, dir: t.TempDir()}
		r.begin(t, strings.Fields(c.more), len(frames))
		runs = append(runs, r)
	}
	sendReplay(t, file)
	for _, r := range runs {
		r.check(file)
	}
}

// replays are the runs that captures are replayed to.
var replays = []struct {
	identity, more, of string
	files              bool
}{
	{"l3", "--memory 16MiB", "", true},
	{"frame", "--method exact", "", true},
	{"inner", "--memory 16MiB --workers 3 --every 8760h --slide 0", "src,flow,mac", true},
	{"inner", "--memory 16MiB --workers 1 --every 8760h", "src,flow,mac", false}, // in place
}

// sendReplay replays a capture.
func sendReplay(t *testing.T, file string) {
	t.Helper()
	const rate = 8000 // packets a second, for a machine that has other work
	out, err := exec.Command("tcpreplay", "-q", "-i", "right", fmt.Sprint("--pps=", rate), file).CombinedOutput()
	if err != nil {
		t.Fatalf("tcpreplay: %v: %s", err, out)
	}
	_, sent, _ := strings.Cut(string(out), "Actual: ")
	t.Log("tcpreplay: ", sent) // of use if a run waits for more
}

// replayRun is a live run that a capture is replayed to.
type replayRun struct {
	*liveRun
	identity string
	of       string // the counted keys, with identity inner; "" for none
	files    bool   // kept and removed packets are written
	dir      string
}

func (r *replayRun) begin(t *testing.T, args []string, packets int) {
	t.Helper()
	args = append(args, "-i", "left", "--identity", r.identity, "--keep", "first", "--window", "1h", "--ring-size", "64MiB", "--block-timeout", "1s", "--json", "--count", fmt.Sprint(packets))
	if r.files {
		args = append(args, "-w", filepath.Join(r.dir, "kept.pcapng"), "--duplicates", filepath.Join(r.dir, "removed.pcapng"))
	}
	if r.of != "" {
		args = append(args, "--of", r.of, "--reports", filepath.Join(r.dir, "counts.jsonl"))
	}
	r.liveRun = startLive(t, args...)
}

// check compares the run with the results of dedup and distinct on the capture.
func (r *replayRun) check(file string) {
	t := r.T
	t.Helper()
	got := r.end(cli.ExitDone)
	kept, removed := filepath.Join(t.TempDir(), "kept.pcapng"), filepath.Join(t.TempDir(), "removed.pcapng")
	want := clitest.RunDedup(t, cli.ExitDone, "--identity", r.identity, "--keep", "first", "--method", "exact", "--window", "none", "-w", kept, "--duplicates", removed, file)
	if want.Duplicates == 0 || got.PacketsIn != want.PacketsIn || got.Duplicates != want.Duplicates || got.dropped() != 0 {
		t.Errorf("%s: %+v, want %+v", r.identity, got, want)
	}
	for name, other := range map[string]string{"kept.pcapng": kept, "removed.pcapng": removed} {
		if r.files && !slices.Equal(clitest.FramesOf(t, filepath.Join(r.dir, name)), clitest.FramesOf(t, other)) {
			t.Errorf("%s: other packets in %s", r.identity, name)
		}
	}
	if r.of != "" {
		r.checkCounts(file)
	}
}

// checkCounts compares the last counts of the run. It may have reported before, where a slide
// ended meanwhile.
func (r *replayRun) checkCounts(file string) {
	t := r.T
	t.Helper()
	got := countsOf(rowsOf[clitest.DistinctRow](t, filepath.Join(r.dir, "counts.jsonl")))
	want := countsOf(clitest.RunDistinct(t, "--inner", "--of", r.of, "--every", "none", file))
	if len(want) < 3 || len(got) < len(want) || !slices.Equal(got[len(got)-len(want):], want) {
		t.Errorf("counted %q, want %q", got, want)
	}
}

// countsOf returns what rows say about each key and family, in their order.
func countsOf(rows []clitest.DistinctRow) (counts []string) {
	for _, r := range rows {
		counts = append(counts, fmt.Sprint(r.Of, " ", r.Family, " ", r.Distinct))
	}
	return counts
}
