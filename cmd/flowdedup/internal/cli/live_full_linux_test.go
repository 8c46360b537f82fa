package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// smallDisk returns a folder with room for 512 KiB, which only the test's thread sees,
// and programs that it starts.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	err := unix.Unshare(unix.CLONE_NEWNS)
	if err == nil {
		err = errors.Join(unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""), unix.Mount("small", dir, "tmpfs", 0, "size=512k"))
	}
	if err != nil {
		t.Skip("no small disk: ", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// fill takes all room of a disk.
func fill(t *testing.T, dir string) (name string) {
	t.Helper()
	name = filepath.Join(dir, "filler")
	if err := os.WriteFile(name, make([]byte, 1<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatal("the disk is not small: ", err)
	}
	return name
}

// sendMany sends more than a small disk holds, of which every other packet is a copy, and
// returns the packets and the copies.
func sendMany(t *testing.T) (first, copies []string) {
	t.Helper()
	frames := burst(12_000, func(f *liveFrame) { f.vlan = 5 })
	for part := range slices.Chunk(frames, 1000) {
		sendTo(t, "right", part...)
	}
	for i, f := range frames {
		if i%2 == 0 {
			first = append(first, string(f.bytes()))
		} else {
			copies = append(copies, string(f.bytes()))
		}
	}
	return first, copies
}

// terminate asks the run to end.
func (r *liveRun) terminate() {
	r.t.Helper()
	if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		r.t.Fatal(err)
	}
}

// endsFull waits for the end of a run that lost an output, and wants to be told so in
// one line, beside that of a signal.
func (r *liveRun) endsFull(lost string) {
	r.t.Helper()
	want := "\nflowdedup: " + lost + ": no space left on device"
	if code, told := r.wait(), strings.ReplaceAll(r.stderr.String(), "flowdedup: terminated:", ""); code != exitFailed || strings.Count(told, "flowdedup: ") != 1 || !strings.Contains(told, want) {
		r.t.Errorf("exit code %d, want %q in\n%s", code, want, told)
	}
}

// TestLiveFull runs out of room for the only output, which ends the run. What there was
// room for can be read.
func TestLiveFull(t *testing.T) {
	lab(t)
	pair(t, "left", "right")
	dir := smallDisk(t)
	name := filepath.Join(dir, "kept.pcapng")
	r := startLive(t, "-i", "left", "-w", name, "--window", "1m", "--memory", "4MiB", "--ring-size", "64MiB")
	first, _ := sendMany(t)
	r.endsFull("write " + name)
	if got := framesOf(t, name); len(got) < 1000 || !slices.Equal(got, first[:len(got)]) {
		t.Errorf("%d packets, or others", len(got))
	}
}

// TestLiveFullBesides runs out of room for one output, which keeps what it has. Others go
// on.
func TestLiveFullBesides(t *testing.T) {
	lab(t)
	pair(t, "left", "right")
	small, dir := smallDisk(t), t.TempDir()
	kept, removed, counts := filepath.Join(small, "kept.pcapng"), filepath.Join(dir, "removed.pcapng"), filepath.Join(dir, "counts.jsonl")
	r := startLive(t, "-i", "left", "-w", kept, "--duplicates", removed, "--window", "1m", "--memory", "4MiB", "--ring-size", "64MiB",
		"--of", "src", "--every", "8760h", "--slide", "0", "--reports", counts, "--json")
	first, copies := sendMany(t)
	r.event("output failed")
	r.terminate()
	r.endsFull("write " + kept)
	if got := framesOf(t, kept); len(got) < 1000 || !slices.Equal(got, first[:len(got)]) {
		t.Errorf("%d packets kept, or others", len(got))
	} else if want := fmt.Sprintf("(%d packets lost)", len(first)-len(got)); !strings.Contains(r.stderr.String(), want) {
		t.Errorf("want %s in\n%s", want, r.stderr.String())
	}
	if s := r.summary(r.stdout.Bytes()); s.Duplicates != uint64(len(copies)) || s.dropped() != 0 {
		t.Errorf("%+v", s)
	}
	if got := framesOf(t, removed); !slices.Equal(got, copies) {
		t.Errorf("%d packets removed, want %d", len(got), len(copies))
	}
	text, err := os.ReadFile(counts)
	if rows := strings.Count(string(text), "\n"); err != nil || rows != 3 || !strings.Contains(string(text), fmt.Sprintf(`"packets":%d`, len(copies))) {
		t.Errorf("%v: counts\n%s", err, text)
	}
}

// TestLiveFullRotates runs out of room after some files, which stay.
func TestLiveFullRotates(t *testing.T) {
	lab(t)
	pair(t, "left", "right")
	small, dir := smallDisk(t), t.TempDir()
	kept := filepath.Join(small, "kept.pcapng")
	r := startLive(t, "-i", "left", "-w", kept, "--duplicates", filepath.Join(dir, "removed.pcapng"), "--rotate-size", "100KiB",
		"--window", "1m", "--memory", "4MiB", "--ring-size", "64MiB", "--json")
	first, copies := sendMany(t)
	r.event("output failed")
	r.terminate()
	r.endsFull("write " + kept)
	files := rotatedFiles(t, small, "kept")
	if len(files) < 4 || len(files) != len(entries(t, small)) {
		t.Errorf("%d files of %q", len(files), entries(t, small))
	}
	for i, name := range files {
		got := framesOf(t, name)
		lost := slices.Index(first, got[0])
		if lost < 0 || lost > 0 && i < 4 || !slices.Equal(got, first[lost:][:len(got)]) {
			t.Fatalf("%s has %d other packets, %d behind those before", name, len(got), lost)
		}
		first = first[lost+len(got):]
	}
	var gone []string
	for _, name := range rotatedFiles(t, dir, "removed") {
		gone = append(gone, framesOf(t, name)...)
	}
	if s := r.summary(r.stdout.Bytes()); !slices.Equal(gone, copies) || s.dropped() != 0 {
		t.Errorf("%d packets removed, want %d: %+v", len(gone), len(copies), s)
	}
}

// TestLiveFullState cannot save the run any more: what was saved before stays, and the
// next run goes on from it.
func TestLiveFullState(t *testing.T) {
	lab(t)
	pair(t, "left", "right")
	dir := smallDisk(t)
	state := filepath.Join(dir, "state")
	args := []string{"-i", "left", "--state", state, "--state-every", "1h", "--memory", "64KiB", "--window", "1h", "--json"}
	const n = 100
	r := startLive(t, args...)
	sendTo(t, "right", burst(n, func(*liveFrame) {})...)
	r.stopAfter(2 * n)

	filler := fill(t, dir)
	r = startLive(t, args...)
	r.event("state not saved")
	r.terminate()
	r.endsFull("--state: output failed: write " + state)
	if got := savedPackets(t, state); got != 2*n {
		t.Errorf("%d packets were saved, want %d", got, 2*n)
	}

	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	r = startLive(t, args...)
	fill(t, dir)
	sendTo(t, "right", burst(n, func(*liveFrame) {})...)
	time.Sleep(50 * time.Millisecond)
	r.terminate()
	r.endsFull("--state: output failed: write " + state)
	if s := r.summary(r.stdout.Bytes()); s.PacketsIn != 4*n || s.Duplicates != 3*n {
		t.Errorf("%+v", s)
	}
	if got := savedPackets(t, state); got != 2*n {
		t.Errorf("%d packets were saved, want %d", got, 2*n)
	}
}
