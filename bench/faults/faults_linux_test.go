// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/bench/lab"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
)

// errnos are the errors that calls are made to return. Some of these calls are made by
// the Go runtime too; a process that cannot start is checked like any other.
var errnos = map[string][]string{
	"openat": {"EMFILE", "EACCES", "EIO", "EROFS", "EDQUOT"}, "read": {"EIO", "EINTR"}, "pread64": {"EIO", "EINTR"},
	"write": {"ENOSPC", "EIO", "EINTR", "EDQUOT", "EROFS"}, "pwrite64": {"EIO"}, "fsync": {"EIO", "ENOSPC", "EDQUOT", "EROFS"},
	"close": {"EIO", "EDQUOT"}, "fstat": {"EIO"}, "newfstatat": {"EIO", "EACCES"}, "linkat": {"EPERM", "ENOSPC", "EDQUOT", "EROFS"},
	"renameat": {"EBUSY", "EPERM", "EXDEV", "EIO", "EROFS", "EDQUOT"}, "renameat2": {"EPERM", "EINVAL", "EROFS"},
	"unlinkat": {"EPERM", "EROFS"}, "ftruncate": {"EIO", "EROFS"}, "fallocate": {"ENOSPC", "EDQUOT"},
	"flock": {"ENOLCK", "EINTR"}, "getdents64": {"EIO"}, "fchmod": {"EPERM"}, "fchown": {"EPERM"}, "fcntl": {"EINVAL"},
	"mmap": {"ENOMEM"}, "sync_file_range": {"EIO"},
}

// fault is one call that fails.
type fault struct {
	call, errno string
	when        int // the first is 1, counted on each thread
}

// program builds the program.
func program(t *testing.T) string {
	t.Helper()
	return filepath.Join(lab.Build(t, "../../cmd/flowdedup"), "flowdedup")
}

// run runs a scenario under strace, and returns the exit code and the messages.
func (s *scenario) run(t *testing.T, exe, dir string, strace ...string) (code int, stderr string) {
	t.Helper()
	args := append([]string{"-f", "-qq", "-o", filepath.Join(t.TempDir(), "trace")}, strace...)
	cmd := exec.Command("strace", append(append(args, exe), s.args...)...)
	cmd.Dir = dir
	var printed bytes.Buffer
	cmd.Stderr = &printed
	if s.stdin {
		in, err := os.Open(filepath.Join(dir, "in.pcapng"))
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		cmd.Stdin = in
	}
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), printed.String()
}

// calls returns, for each call of a clean run, the most that any thread made.
func calls(t *testing.T, trace string) map[string]int {
	t.Helper()
	text, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	threads := map[string]map[string]int{}
	for _, m := range regexp.MustCompile(`(?m)^(\d+) +([a-z0-9_]+)\(`).FindAllStringSubmatch(string(text), -1) {
		if threads[m[2]] == nil {
			threads[m[2]] = map[string]int{}
		}
		threads[m[2]][m[1]]++
	}
	most := map[string]int{}
	for call, counts := range threads {
		for _, n := range counts {
			most[call] = max(most[call], n)
		}
	}
	return most
}

// maxWhen bounds the runs for one call of one scenario.
const maxWhen = 40

// faultsOf lists the faults to try.
func faultsOf(most map[string]int) (all []fault) {
	for call, list := range errnos {
		for when := 1; when <= min(most[call], maxWhen); when++ {
			for _, errno := range list {
				all = append(all, fault{call, errno, when})
			}
		}
	}
	slices.SortFunc(all, func(a, b fault) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	return all
}

// sampled is the number of faults of each scenario in a sample.
const sampled = 10

func TestFaults(t *testing.T) {
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip("no strace")
	}
	if out, err := exec.Command("strace", "-qq", "-o", os.DevNull, "-e", "inject=fsync:error=EIO", "true").CombinedOutput(); err != nil {
		t.Skipf("no faults here: %v: %s", err, out)
	}
	exe := program(t)
	runs := 0
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			clean := s.stage(t)
			trace := filepath.Join(t.TempDir(), "clean")
			if code, stderr := s.run(t, exe, clean, "-o", trace); code != 0 {
				t.Fatalf("exit code %d: %s", code, stderr)
			}
			want := outcomeOf(t, clean)
			all := faultsOf(calls(t, trace))
			if os.Getenv("FLOWDEDUP_FAULTS") != "all" {
				rnd := rand.New(rand.NewPCG(14, uint64(len(s.name))))
				rnd.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
				all = all[:min(len(all), sampled)]
			}
			for _, f := range all {
				runs++
				s.check(t, exe, f, want)
			}
		})
	}
	t.Logf("%d runs with a fault", runs)
}

// check runs a scenario with a fault.
func (s *scenario) check(t *testing.T, exe string, f fault, want outcome) {
	t.Helper()
	dir := s.stage(t)
	code, stderr := s.run(t, exe, dir, "-e", "trace="+f.call, "-e", fmt.Sprintf("inject=%s:error=%s:when=%d", f.call, f.errno, f.when))
	wrong := func(format string, args ...any) {
		t.Helper()
		t.Errorf("%s fails with %s, time %d: exit code %d: %s\n%s", f.call, f.errno, f.when, code, fmt.Sprintf(format, args...), stderr)
	}
	// Without memory the Go runtime itself ends the process, in various ways.
	fatal := strings.Contains(stderr, "fatal error: ") || strings.Contains(stderr, "runtime: ") ||
		f.call == "mmap" && strings.Contains(stderr, "runtime.")
	switch {
	case strings.Contains(stderr, "panic: ") && !fatal:
		wrong("a panic")
	case code == 0, code == 1, code == 3:
	case code == 2 && fatal, code == -1 && fatal:
	default:
		wrong("another exit code")
	}
	// Each thread has a first write: the message's write may be another thread's.
	if code != 0 && !fatal && f.call != "write" && !strings.Contains(stderr, "flowdedup: ") {
		wrong("it does not say why")
	}
	s.checkFiles(t, outcomeOf(t, dir), want, code, wrong)
	if code == 0 {
		return
	}
	// The next run in the folder removes hidden files.
	next := exec.Command(exe, "dedup", "--quiet", "second.pcap", "-w", "next.pcap")
	next.Dir = dir
	if out, err := next.CombinedOutput(); err != nil {
		wrong("the next run: %v: %s", err, out)
	}
	if left := outcomeOf(t, dir).hidden; len(left) > 0 {
		wrong("hidden after the next run: %q", left)
	}
}

// checkFiles compares the files after a run with the files after a clean run.
func (s *scenario) checkFiles(t *testing.T, got, want outcome, code int, wrong func(string, ...any)) {
	t.Helper()
	if code == 0 {
		for name, content := range want.visible {
			if !same(name, got.visible[name], content) {
				wrong("%s has %d bytes, want %d", name, len(got.visible[name]), len(content))
			}
		}
		return
	}
	older := outcome{visible: map[string][]byte{}}
	for name, content := range s.older {
		older.visible[name] = []byte(content)
		if content == "in" {
			older.visible[name] = input(t, "router-vlan.pcapng")
		}
	}
	for name, content := range older.visible {
		if now := got.visible[name]; !bytes.Equal(now, content) && !same(name, now, want.visible[name]) {
			wrong("the older %s has %d bytes", name, len(now))
		}
	}
	for name, content := range got.visible {
		if strings.HasPrefix(name, "out") && strings.HasSuffix(name, ".pcapng") && older.visible[name] == nil {
			s.checkCapture(t, name, content, want, wrong)
		}
	}
}

// unsettled is the time before the end of an input in which packets may be other copies
// than in the whole of it: the home of a conversation follows from its first packets, and
// some wait for a better copy.
const unsettled = int64(100 * time.Millisecond)

// checkCapture requires an incomplete capture to hold the first packets of the complete
// one, unless one of two inputs may be missing in it. Packets at its end may be other
// copies.
func (s *scenario) checkCapture(t *testing.T, name string, content []byte, want outcome, wrong func(string, ...any)) {
	t.Helper()
	whole, ok := want.visible["out.pcapng"]
	if !ok {
		whole = want.visible[name]
	}
	got, err := packets(content)
	if err != nil {
		wrong("%s cannot be read: %v", name, err)
		return
	}
	if whole == nil || s.merged() {
		return
	}
	all, _ := packets(whole)
	sure := len(got)
	for sure > 0 && got[sure-1].time >= got[len(got)-1].time-unsettled {
		sure--
	}
	if len(got) > len(all) || !slices.Equal(got[:sure], all[:sure]) {
		wrong("%s has %d packets, of %d others", name, len(got), len(all))
	}
	read, err := packets(input(t, "router-vlan.pcapng"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range got[sure:] {
		if !slices.Contains(read, p) {
			wrong("%s has a packet that the input does not have", name)
		}
	}
}

// packet is a packet of a capture.
type packet struct {
	time int64
	data string
}

// packets returns all packets of a capture.
func packets(content []byte) (all []packet, err error) {
	src, err := pcapfile.NewReader(bytes.NewReader(content), "output", pcapfile.Options{})
	if err != nil {
		return nil, err
	}
	defer src.Close()
	var b capture.Batch
	for {
		if err := src.Next(&b); err == io.EOF {
			return all, nil
		} else if err != nil {
			return all, err
		}
		for i := range b.Frames {
			all = append(all, packet{b.Frames[i].Time, string(b.Data(i))})
		}
	}
}
