// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/flowdedup/flowdedup/bench/lab/wait"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// TestBadEndsLive ends live runs in every bad way. Packets that are a second old are in a
// file with a visible name, and an older file stays.
func TestBadEndsLive(t *testing.T) {
	t.Parallel()
	for _, where := range []clitest.Place{clitest.NewName, clitest.OlderFile, clitest.BindMount, clitest.NoReader} {
		t.Run(string(where), func(t *testing.T) {
			clitest.Lab(t, "left right")
			clitest.PrivateMounts(t)
			var runs []badRun
			for _, how := range clitest.Sample(2, clitest.BadEnds) {
				if how.Signal != 0 {
					runs = append(runs, newBadRun(t, where, how))
				}
			}
			const n = 100
			clitest.SendTo(t, "right", burst(n, func(*clitest.Frame) {})...)
			for _, r := range runs {
				if where != clitest.NoReader {
					wait.Until(t, "packets in the file", func() bool { return packetsIn(r.file) == n })
				}
				r.endBy(r.how)
				if got := r.Visible(); where != clitest.NoReader && (got != r.file || packetsIn(r.file) != n) {
					t.Errorf("%s: %d packets in %s, want %d in %s", r.how.Name, packetsIn(got), got, n, r.file)
				}
			}
		})
	}
}

// badRun is a run that ends badly.
type badRun struct {
	*liveRun
	*clitest.Stage
	how  clitest.BadEnd
	file string // that has its packets at the end
}

// newBadRun starts a run, and waits until it captures, or for a reader.
func newBadRun(t *testing.T, where clitest.Place, how clitest.BadEnd) badRun {
	t.Helper()
	r := badRun{Stage: clitest.SetStage(t, where, ".pcapng"), how: how}
	if r.file = r.Out; r.Older != nil {
		r.file = filepath.Join(r.Dir, "out_002.pcapng")
	}
	r.liveRun = startProgram(t, "-i", "left", "-w", r.Out, "--window", "5s")
	if where == clitest.NoReader {
		r.Event(" waits for a reader of the pipe ")
		clitest.AwaitOpen(t, r.Cmd.Process)
		return r
	}
	r.Event(" started ")
	return r
}

// endBy ends a live run.
func (r *liveRun) endBy(how clitest.BadEnd) {
	r.T.Helper()
	r.signal(how.Signal)
	if code := r.Wait(); code != how.Code {
		r.T.Errorf("exit code %d, want %d: %s", code, how.Code, r.Stderr.String())
	}
}

// startPiped starts a run that writes to a pipe.
func startPiped(t *testing.T, args ...string) (*liveRun, *os.File) {
	t.Helper()
	r := &liveRun{clitest.NewProcess(t, append([]string{"live", "-i", "left", "--ring-size", "8MiB"}, args...)...)}
	from, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = from.Close() }) // the test may have
	r.Cmd.Stdout = to
	r.Start()
	if err := to.Close(); err != nil { // the program has it
		t.Fatal(err)
	}
	r.Event(" started ")
	return r, from
}

// leave reads the first bytes of a pipe and closes it.
func leave(t *testing.T, from *os.File) {
	t.Helper()
	if _, err := io.ReadFull(from, make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	if err := from.Close(); err != nil {
		t.Fatal(err)
	}
}

// leaveAfter reads packets from a pipe and closes it.
func leaveAfter(t *testing.T, from *os.File, packets int) {
	t.Helper()
	src, err := pcapfile.NewReader(from, "pipe", pcapfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for b := (capture.Batch{}); packets > 0; packets -= len(b.Frames) {
		if err := src.Next(&b); err != nil {
			t.Fatal(err)
		}
	}
	if err := from.Close(); err != nil {
		t.Fatal(err)
	}
}

// endsQuietly checks that a run whose reader left ends without a message.
func (r *liveRun) endsQuietly() {
	r.T.Helper()
	if code, stderr := r.Wait(), r.Stderr.String(); code != cli.ExitDone || strings.Contains(stderr, "flowdedup:") || strings.Contains(stderr, "ERROR") {
		r.T.Errorf("exit code %d\n%s", code, stderr)
	}
}

// TestLiveReaderLeaves checks that a run ends with the reader of its pipe, as dedup does.
func TestLiveReaderLeaves(t *testing.T) {
	t.Parallel()
	for _, args := range []string{"-w -", "--duplicates -", "--of src --every 1h --slide 1s"} {
		t.Run(args, func(t *testing.T) {
			clitest.Lab(t, "left right")
			r, from := startPiped(t, append(strings.Fields(args), "--window", "1m", "--memory", "1MiB")...)
			frames := burst(40, func(*clitest.Frame) {})
			clitest.SendTo(t, "right", frames[:40]...)
			leave(t, from)
			clitest.SendTo(t, "right", frames[40:]...)
			r.endsQuietly()
		})
	}
}

// TestLiveReaderLeavesOthers checks that the other outputs get all captured packets. The run
// learns that its reader left when it writes next: the reader has read all that was written
// before, so that these are later packets.
func TestLiveReaderLeavesOthers(t *testing.T) {
	t.Parallel()
	clitest.Lab(t, "left right")
	const n = 80
	dir := t.TempDir()
	removed, state := filepath.Join(dir, "removed.pcapng"), filepath.Join(dir, "state")
	r, from := startPiped(t, "-w", "-", "--duplicates", removed, "--state", state, "--window", "1m", "--memory", "1MiB", "--json")
	frames := burst(n, func(f *clitest.Frame) { f.TTL-- })
	clitest.SendTo(t, "right", frames[:n]...)
	leaveAfter(t, from, n/2)
	// The first of these is a copy, which only the others get.
	clitest.SendTo(t, "right", append([]clitest.Frame{frames[1]}, frames[n:]...)...)
	r.endsQuietly()
	s := r.summary(r.Stderr.Bytes())
	if got := clitest.FramesOf(t, removed); uint64(len(got)) != s.Duplicates || len(got) <= n/2 || s.PacketsIn <= n {
		t.Errorf("%d packets removed: %+v", len(got), s)
	}
	if got := savedPackets(t, state); got != s.PacketsIn {
		t.Errorf("%d packets were saved: %+v", got, s)
	}
}

// TestLiveHangup checks that SIGHUP reopens the file of counts if there is one and no
// terminal, and that SIGTERM still ends the run.
func TestLiveHangup(t *testing.T) {
	t.Parallel()
	clitest.Lab(t, "left right")
	dir := t.TempDir()
	name := filepath.Join(dir, "counts.jsonl")
	r := startLive(t, "-i", "left", "--of", "src", "--slide", "100ms", "--reports", name)
	clitest.SendTo(t, "right", burst(10, func(*clitest.Frame) {})...)
	wait.Until(t, "counts", func() bool { return size(name) > 0 })
	if err := os.Rename(name, name+".1"); err != nil {
		t.Fatal(err)
	}
	r.signal(syscall.SIGHUP)
	clitest.SendTo(t, "right", burst(10, func(*clitest.Frame) {})...)
	wait.Until(t, "counts in a new file", func() bool { return size(name) > 0 })
	before := size(name + ".1")
	r.signal(syscall.SIGTERM)
	if code := r.Wait(); code != 143 || size(name+".1") != before {
		t.Errorf("exit code %d: %s", code, r.Stderr.String())
	}
}

// size returns the bytes of a file, 0 if there is none.
func size(name string) int64 {
	info, err := os.Stat(name)
	if err != nil {
		return 0
	}
	return info.Size()
}
