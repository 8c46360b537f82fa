// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

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

// pipe is the pipe that a run writes to.
type pipe struct{ from, to *os.File }

// startPiped starts a run that writes to a pipe.
func startPiped(t *testing.T, args ...string) (*liveRun, pipe) {
	t.Helper()
	args = append([]string{"live", "-i", "left", "--ring-size", "8MiB"}, args...)
	r := &liveRun{clitest.NewProcess(t, append(args, captureArgs(t)...)...)}
	from, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = from.Close(), to.Close() }) // the test may have
	r.Cmd.Stdout = to
	r.Start()
	r.Event(" started ")
	return r, pipe{from, to}
}

// leave closes the reader's end, and waits until no process has it. Processes that other tests
// start have it, too, between their fork and their exec.
func (p pipe) leave(t *testing.T) {
	t.Helper()
	if err := p.from.Close(); err != nil {
		t.Fatal(err)
	}
	to, err := p.to.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "a pipe without reader", func() (left bool) {
		err := to.Control(func(fd uintptr) {
			set := []unix.PollFd{{Fd: int32(fd)}}
			_, err := unix.Poll(set, 0)
			left = err == nil && set[0].Revents&unix.POLLERR != 0
		})
		return err == nil && left
	})
}

// leaveEarly reads the first bytes and leaves.
func (p pipe) leaveEarly(t *testing.T) {
	t.Helper()
	if _, err := io.ReadFull(p.from, make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	p.leave(t)
}

// leaveAfter reads packets and leaves.
func (p pipe) leaveAfter(t *testing.T, packets int) {
	t.Helper()
	src, err := pcapfile.NewReader(p.from, "pipe", pcapfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for b := (capture.Batch{}); packets > 0; packets -= len(b.Frames) {
		if err := src.Next(&b); err != nil {
			t.Fatal(err)
		}
	}
	p.leave(t)
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
			r, out := startPiped(t, append(strings.Fields(args), "--window", "1m", "--memory", "1MiB")...)
			frames := burst(40, func(*clitest.Frame) {})
			clitest.SendTo(t, "right", frames[:40]...)
			out.leaveEarly(t)
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
	r, out := startPiped(t, "-w", "-", "--duplicates", removed, "--state", state, "--window", "1m", "--memory", "1MiB", "--json")
	frames := burst(n, func(f *clitest.Frame) { f.TTL-- })
	clitest.SendTo(t, "right", frames[:n]...)
	out.leaveAfter(t, n/2)
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
