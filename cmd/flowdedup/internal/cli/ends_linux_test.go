// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	benchlab "github.com/flowdedup/flowdedup/bench/lab"
	"github.com/flowdedup/flowdedup/bench/lab/wait"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/dedup"
)

// dedupOf returns the arguments of a run that reads the input and a pipe.
func dedupOf(s *clitest.Stage) []string {
	args := []string{"dedup", "--json", "--window", "n:1", s.In, "-", "-w", s.Out}
	if s.In == s.Out {
		args = append(args, "--in-place")
	}
	return args
}

// heldRun is a program that waits for more of its standard input.
type heldRun struct {
	*exec.Cmd
	stdin          *os.File
	stdout, stderr bytes.Buffer
}

// hold starts a program and waits until it has read its input so far.
func hold(t *testing.T, content []byte, args ...string) *heldRun {
	t.Helper()
	r := &heldRun{Cmd: clitest.Program(t, args...)}
	stdin, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	r.Stdin, r.Stdout, r.Stderr, r.stdin = stdin, &r.stdout, &r.stderr, w
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Process.Kill(); w.Close() }) // it has ended, if nothing failed
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	return r
}

// drained waits until the pipe to the program is empty, and the program wants more.
func (r *heldRun) drained(t *testing.T) {
	t.Helper()
	wait.Until(t, "the program to read", func() bool {
		n, err := unix.IoctlGetInt(int(r.stdin.Fd()), unix.TIOCINQ)
		return err == nil && n == 0
	})
	awaitSleep(t, r.Process.Pid)
}

// awaitSleep waits until a process sleeps: no thread has run between two looks at it.
func awaitSleep(t *testing.T, pid int) {
	t.Helper()
	before := ""
	wait.Until(t, "the program to sleep", func() bool {
		last := before
		before = asleep(pid)
		return before != "" && before == last
	})
}

// asleep returns how often each thread of a process has run, "" if a thread runs.
func asleep(pid int) (text string) {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	for _, name := range threads {
		status, _ := os.ReadFile(name) // of a thread that has ended, nothing
		if !strings.Contains(string(status), "\nState:\tS") {
			return ""
		}
		_, switches, _ := strings.Cut(string(status), "\nvoluntary_ctxt_switches")
		text += name + switches
	}
	return text
}

// end ends the run, and checks its exit code.
func (r *heldRun) end(t *testing.T, how clitest.BadEnd) {
	t.Helper()
	if how.Signal != 0 {
		if err := r.Process.Signal(how.Signal); err != nil {
			t.Fatal(err)
		}
	} else if _, err := r.stdin.Write([]byte{6, 0, 0, 0, 80, 0, 0, 0, 0}); err != nil { // a packet block that is cut
		t.Fatal(err)
	} else if err := r.stdin.Close(); err != nil {
		t.Fatal(err)
	}
	if code := clitest.ExitCode(t, r.Wait()); code != how.Code {
		t.Errorf("exit code %d, want %d: %s", code, how.Code, &r.stderr)
	}
}

// endAt ends the run when it has read what it was given, or waits for a reader.
func (r *heldRun) endAt(t *testing.T, where clitest.Place, how clitest.BadEnd) {
	t.Helper()
	if where == clitest.NoReader {
		clitest.AwaitOpen(t, r.Process)
	} else {
		r.drained(t)
	}
	r.end(t, how)
}

// sweptBy runs a command in the folder, which removes what a killed run has left.
func sweptBy(t *testing.T, s *clitest.Stage, args ...string) {
	t.Helper()
	other := filepath.Join(s.Dir, "other")
	if text, err := clitest.Program(t, append(args, other)...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if err := os.Remove(other); err != nil {
		t.Fatal(err)
	}
}

// TestBadEndsDedup ends runs in every bad way, with every kind of output. The older file
// stays intact, and every processed packet is in a visible file.
func TestBadEndsDedup(t *testing.T) {
	t.Parallel()
	content := clitest.ReadFile(t, clitest.Bundled("router-vlan.pcapng"))
	for _, where := range []clitest.Place{clitest.NewName, clitest.OlderFile, clitest.InPlace, clitest.BindMount, clitest.NoReader} {
		for _, how := range clitest.Sample(2, clitest.BadEnds) {
			if where == clitest.NoReader && how.Signal == 0 {
				continue // nothing is read before there is a reader
			}
			t.Run(fmt.Sprintf("%s/%s", where, how.Name), func(t *testing.T) {
				clitest.PrivateMounts(t)
				s := clitest.SetStage(t, where, ".pcapng")
				r := hold(t, content, dedupOf(s)...)
				r.endAt(t, where, how)
				if how.Signal == syscall.SIGKILL {
					sweptBy(t, s, "dedup", s.In, "-w")
				}
				file := s.Visible()
				if where == clitest.NoReader || how.Signal == syscall.SIGKILL {
					if file != "" && file != s.Out {
						t.Errorf("left behind: %s", file)
					}
					return
				}
				var sum dedup.Summary
				if err := json.Unmarshal(r.stdout.Bytes(), &sum); err != nil || sum.PacketsOut == 0 {
					t.Fatalf("no summary: %v in %q, %q", err, &r.stdout, &r.stderr)
				}
				if got := len(clitest.ReadAll(t, file)); uint64(got) != sum.PacketsOut {
					t.Errorf("%d packets in %s, want %d", got, file, sum.PacketsOut)
				}
				if named := strings.Contains(r.stderr.String(), file); named != (s.Older != nil) {
					t.Errorf("stderr names %s: %v\n%s", file, named, &r.stderr)
				}
			})
		}
	}
}

// TestBadEndsDistinct does the same with the file of counts.
func TestBadEndsDistinct(t *testing.T) {
	t.Parallel()
	content := clitest.ReadFile(t, clitest.Bundled("router-vlan.pcapng"))
	for _, where := range []clitest.Place{clitest.NewName, clitest.OlderFile, clitest.BindMount, clitest.NoReader} {
		for _, how := range clitest.Sample(2, clitest.BadEnds) {
			if where == clitest.NoReader && how.Signal == 0 {
				continue
			}
			t.Run(fmt.Sprintf("%s/%s", where, how.Name), func(t *testing.T) {
				clitest.PrivateMounts(t)
				s := clitest.SetStage(t, where, ".csv")
				given := content
				if where == clitest.NoReader {
					given = nil
				}
				r := hold(t, given, "distinct", "--json", "--every", "1s", s.In, "-", "--csv", s.Out)
				r.endAt(t, where, how)
				if how.Signal == syscall.SIGKILL {
					sweptBy(t, s, "distinct", s.In, "--csv")
				}
				file := s.Visible()
				if where == clitest.NoReader || how.Signal == syscall.SIGKILL {
					if file != "" && file != s.Out {
						t.Errorf("left behind: %s", file)
					}
					return
				}
				text := clitest.ReadFile(t, file)
				if rows, want := bytes.Count(text, []byte("\n"))-1, strings.Count(r.stdout.String(), "\n"); rows != want || rows < 1 {
					t.Errorf("%d rows in %s, want %d", rows, file, want)
				}
			})
		}
	}
}

// TestNoReader runs every command that writes a file with a named pipe as the file. While the pipe
// has no reader, the run says that it waits for a reader.
func TestNoReader(t *testing.T) {
	t.Parallel()
	in, records := clitest.Bundled("router-plain.pcapng"), "../flows/testdata/unread-a.csv"
	address := "127.0.0.1:" + benchlab.FreePort(t)
	for _, args := range [][]string{
		{"dedup", in, "-w"}, {"dedup", in, "--duplicates"}, {"dedup", in, "--html"},
		{"distinct", in, "--csv"}, {"distinct", in, "--html"}, {"distinct", in, "--key", strings.Repeat("5a", 32), "--save"},
		{"compare", in, in, "--only-a"}, {"compare", in, in, "--html"}, {"verify", in, in, "--html"},
		{"flows", records, "-w"}, {"flows", records, "--html"}, {"flows", records, "--of", "src", "--reports"},
		{"flows", "--listen", address, "-w"}, {"flows", "--listen", address, "--of", "src", "--reports"},
		{"inspect", in, "--html"}, {"plan", "--rate", "1M", "--window", "10ms", "--html"},
	} {
		t.Run(args[0]+args[len(args)-1], func(t *testing.T) {
			s := clitest.SetStage(t, clitest.NoReader, "")
			r := clitest.NewProcess(t, append(args, s.Out)...)
			r.Start()
			clitest.AwaitOpen(t, r.Cmd.Process)
			if err := r.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			code := r.Wait()
			if text := r.Stderr.String(); code != 143 || strings.Count(text, s.Out) != 1 || !strings.Contains(text, "reader") {
				t.Errorf("exit code %d: %q", code, text)
			}
		})
	}
}

// TestRenameRefused ends a good run in a folder where nothing can be renamed any more.
func TestRenameRefused(t *testing.T) {
	content := clitest.ReadFile(t, clitest.Bundled("router-vlan.pcapng"))
	for _, where := range []clitest.Place{clitest.NewName, clitest.OlderFile, clitest.InPlace, clitest.BindMount} {
		t.Run(string(where), func(t *testing.T) {
			clitest.PrivateMounts(t)
			s := clitest.SetStage(t, where, ".pcapng")
			elsewhere := t.TempDir()
			t.Setenv("TMPDIR", elsewhere)
			r := hold(t, content, dedupOf(s)...)
			r.drained(t)
			freeze(t, s.Dir)
			if err := r.stdin.Close(); err != nil {
				t.Fatal(err)
			}
			file, want := s.Out, cli.ExitDone
			if where == clitest.NewName {
				want = cli.ExitFailed
			}
			if code := clitest.ExitCode(t, r.Wait()); code != want {
				t.Errorf("exit code %d, want %d: %s", code, want, &r.stderr)
			}
			if where == clitest.NewName {
				if names := clitest.Entries(t, elsewhere); len(names) == 1 {
					file = filepath.Join(elsewhere, names[0])
				}
				if !strings.Contains(r.stderr.String(), file) {
					t.Errorf("stderr does not name %s: %s", file, &r.stderr)
				}
			}
			records := len(clitest.ReadAll(t, file))
			if want == cli.ExitFailed {
				return // no summary is printed
			}
			var sum dedup.Summary
			if err := json.Unmarshal(r.stdout.Bytes(), &sum); err != nil || uint64(records) != sum.PacketsOut {
				t.Errorf("%d packets in %s, want %d, %v", records, file, sum.PacketsOut, err)
			}
		})
	}
}

// freeze prevents changes of names in a folder until the test ends.
func freeze(t *testing.T, dir string) {
	t.Helper()
	const immutable = 0x10 // FS_IMMUTABLE_FL of linux/fs.h
	set := func(flags int) error {
		f, err := os.Open(dir)
		if err != nil {
			return err
		}
		defer f.Close()
		return unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, flags)
	}
	if err := set(immutable); err != nil {
		t.Skip("no immutable folders: ", err)
	}
	t.Cleanup(func() { _ = set(0) })
}

// TestFullDiskEnds fills a disk at once. The disk holds the older file too.
func TestFullDiskEnds(t *testing.T) {
	for _, args := range [][]string{{"dedup", "-w"}, {"distinct", "--csv"}} {
		t.Run(args[0], func(t *testing.T) { fullDiskEnds(t, args) })
	}
}

func fullDiskEnds(t *testing.T, args []string) {
	runtime.LockOSThread()
	dir := clitest.SmallDisk(t)
	in, older := clitest.Bundled("router-plain.pcapng"), filepath.Join(dir, "older")
	if err := os.WriteFile(older, []byte("older"), 0o600); err != nil {
		t.Fatal(err)
	}
	clitest.Fill(t, dir)
	for _, out := range []string{older, filepath.Join(dir, "new")} {
		text, err := clitest.Program(t, append(slices.Clone(args), out, in)...).CombinedOutput()
		if code := clitest.ExitCode(t, err); code != cli.ExitFailed || !strings.Contains(string(text), out) {
			t.Errorf("%q to %s: exit code %d, %s", args, out, code, text)
		}
	}
	if now, err := os.ReadFile(older); err != nil || string(now) != "older" {
		t.Errorf("%q: the older file holds %.20q, %v", args, now, err)
	}
	if names := clitest.Entries(t, dir); !slices.Equal(names, []string{"filler", "older"}) {
		t.Errorf("%q: left behind: %q", args, names)
	}
}

// TestBlockedOutput ends a run with one signal while its reader sleeps. The signal comes twice,
// as timeout(1) sends it: to the process and to its group.
func TestBlockedOutput(t *testing.T) {
	t.Parallel()
	in := generated(t, 100_000)
	for kept, args := range map[string][]string{
		"other.partial": {"dedup", in, "-w", "-", "--duplicates"}, "other": {"distinct", in, "--list", "--json", "--csv"},
	} {
		dir := t.TempDir()
		other := filepath.Join(dir, "other")
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd := clitest.Program(t, append(args, other)...)
		var stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = w, &stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		w.Close()
		if _, err := io.ReadFull(r, make([]byte, 1000)); err != nil {
			t.Fatal(err)
		}
		awaitSleep(t, cmd.Process.Pid)
		for range 2 {
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
		}
		if code := clitest.ExitCode(t, cmd.Wait()); code != 143 || !strings.Contains(stderr.String(), "blocked") {
			t.Errorf("%q: exit code %d, %s", args, code, &stderr)
		}
		if _, err := os.Stat(filepath.Join(dir, kept)); err != nil {
			t.Errorf("%q: %v", args, err)
		}
		r.Close()
	}
}
