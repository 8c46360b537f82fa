package cli

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// startPiped starts a run that writes to a pipe.
func startPiped(t *testing.T, args ...string) (*liveRun, *os.File) {
	t.Helper()
	r := &liveRun{t: t, cmd: program(t, append([]string{"live", "-i", "left", "--ring-size", "8MiB"}, args...)...)}
	from, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = from.Close() }) // the test may have
	r.cmd.Stdout = to
	r.start()
	if err := to.Close(); err != nil { // the program has it
		t.Fatal(err)
	}
	r.event(" started ")
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

// endsQuietly wants the end of a run that nobody reads any more, without a complaint.
func (r *liveRun) endsQuietly() {
	r.t.Helper()
	if code, told := r.wait(), r.stderr.String(); code != exitDone || strings.Contains(told, "flowdedup:") || strings.Contains(told, "ERROR") {
		r.t.Errorf("exit code %d\n%s", code, told)
	}
}

// TestLiveReaderLeaves ends with the reader of its pipe, as dedup does.
func TestLiveReaderLeaves(t *testing.T) {
	for _, args := range []string{"-w -", "--duplicates -", "--of src --every 1h --slide 1s"} {
		t.Run(args, func(t *testing.T) {
			lab(t)
			pair(t, "left", "right")
			r, from := startPiped(t, append(strings.Fields(args), "--window", "1m", "--memory", "1MiB")...)
			frames := burst(40, func(*liveFrame) {})
			sendTo(t, "right", frames[:40]...)
			leave(t, from)
			sendTo(t, "right", frames[40:]...)
			r.endsQuietly()
		})
	}
}

// TestLiveReaderLeavesOthers completes other outputs, which got all that was captured.
func TestLiveReaderLeavesOthers(t *testing.T) {
	lab(t)
	pair(t, "left", "right")
	dir := t.TempDir()
	removed, state := filepath.Join(dir, "removed.pcapng"), filepath.Join(dir, "state")
	r, from := startPiped(t, "-w", "-", "--duplicates", removed, "--state", state, "--window", "1m", "--memory", "1MiB", "--json")
	const n = 80
	frames := burst(n, func(f *liveFrame) { f.ttl-- })
	sendTo(t, "right", frames[:n]...)
	leave(t, from)
	sendTo(t, "right", frames[n:]...)
	r.endsQuietly()
	s := r.summary(r.stderr.Bytes())
	if got := framesOf(t, removed); uint64(len(got)) != s.Duplicates || len(got) <= n/2 {
		t.Errorf("%d packets removed: %+v", len(got), s)
	}
	if got := savedPackets(t, state); got != s.PacketsIn {
		t.Errorf("%d packets were saved: %+v", got, s)
	}
}
