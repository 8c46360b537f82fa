// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/flowdedup/flowdedup/bench/lab/wait"
	"github.com/flowdedup/flowdedup/bench/workload"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

const (
	// fileLimit is how many bytes the program may write to one file.
	fileLimit = "FLOWDEDUP_TEST_FILE_LIMIT"
	// peakFile is where the program leaves the most memory that it had.
	peakFile = "FLOWDEDUP_TEST_PEAK"
)

func init() { asLimited = withLimits }

// withLimits runs main under the limits of the environment.
func withLimits(main func() int) int {
	if n, err := strconv.ParseUint(os.Getenv(fileLimit), 10, 64); err == nil {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: n, Max: n}); err != nil {
			panic(err)
		}
	}
	code := main()
	if name := os.Getenv(peakFile); name != "" {
		// Not ru_maxrss, which a process takes over from its parent.
		status, err := os.ReadFile("/proc/self/status")
		if err == nil {
			err = os.WriteFile(name, status, 0o600)
		}
		if err != nil {
			panic(err)
		}
	}
	return code
}

// generated writes a capture of packets of 64 bytes.
func generated(t *testing.T, packets int64) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "generated.pcap")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	c := workload.Default()
	c.Packets, c.Size = packets, 64
	if _, err := workload.Generate(f, c); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestFileLimit limits the size of files: an older file stays, and the part that fitted is
// next to it.
func TestFileLimit(t *testing.T) {
	in := clitest.Bundled("router-plain.pcapng")
	for _, ending := range clitest.Sample(2, []string{"", ".gz", ".zst", ".lz4"}) {
		dir := t.TempDir()
		out := filepath.Join(dir, "out.pcapng"+ending)
		clitest.RunDedup(t, cli.ExitDone, in, "-w", out)
		size := clitest.FileSize(t, out)
		if err := os.WriteFile(out, []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, limit := range []int64{0, 1, size / 2, size - 1, size} {
			cmd := clitest.Program(t, "dedup", in, "-w", out)
			cmd.Env = append(cmd.Env, fmt.Sprintf("%s=%d", fileLimit, limit))
			text, err := cmd.CombinedOutput()
			code := clitest.ExitCode(t, err)
			if limit == size {
				if code != cli.ExitDone || clitest.FileSize(t, out) != size {
					t.Errorf("%s: exit code %d with room for all: %s", ending, code, text)
				}
				continue
			}
			want := "flowdedup: write " + out + ": file too large\n"
			if partial := filepath.Join(dir, "out.partial.pcapng"+ending); len(clitest.Entries(t, dir)) > 1 {
				want += "flowdedup: " + out + " was not written; what was processed is in " + partial + "\n"
				if ending == "" && clitest.ReadAll(t, partial) == nil {
					t.Errorf("room for %d of %d bytes: nothing to read", limit, size)
				}
				if err := os.Remove(partial); err != nil {
					t.Error(err)
				}
			}
			if code != cli.ExitFailed || string(text) != want {
				t.Errorf("%s: room for %d of %d bytes: exit code %d, %q", ending, limit, size, code, text)
			}
			if old, err := os.ReadFile(out); err != nil || string(old) != "old" {
				t.Errorf("%s: room for %d of %d bytes: the old file holds %.20q, %v", ending, limit, size, old, err)
			}
		}
		if names := clitest.Entries(t, dir); len(names) != 1 {
			t.Errorf("%s: left behind: %q", ending, names)
		}
	}
}

// TestFileLimitWithin fills the disk at any place of a long output, with any number of workers:
// the part that fitted is a prefix of the whole file, and ends with a whole packet.
func TestFileLimitWithin(t *testing.T) {
	t.Parallel()
	in := generated(t, 50_000)
	dir := t.TempDir()
	out, partial := filepath.Join(dir, "out.pcap"), filepath.Join(dir, "out.partial.pcap")
	clitest.RunDedup(t, cli.ExitDone, in, "-w", out)
	want := clitest.ReadFile(t, out)
	for _, workers := range []string{"1", "2", "8"} {
		for range 4 {
			limit := 1<<20 + rand.Int64N(int64(len(want))-1<<20)
			cmd := clitest.Program(t, "dedup", in, "-w", out, "--workers", workers)
			cmd.Env = append(cmd.Env, fmt.Sprintf("%s=%d", fileLimit, limit))
			text, err := cmd.CombinedOutput()
			message := "flowdedup: write " + out + ": file too large\nflowdedup: " + out + " was not written; what was processed is in " + partial + "\n"
			if code := clitest.ExitCode(t, err); code != cli.ExitFailed || string(text) != message {
				t.Errorf("%s workers, room for %d bytes: exit code %d, %q", workers, limit, code, text)
			}
			got := clitest.ReadFile(t, partial)
			if len(got) == 0 || int64(len(got)) > limit || !bytes.Equal(got, want[:len(got)]) {
				t.Errorf("%s workers, room for %d bytes: %d bytes that are no prefix", workers, limit, len(got))
			}
			clitest.ReadAll(t, partial)
			if err := os.Remove(partial); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestFewFiles checks for an error of ours before the Go runtime would end the process.
func TestFewFiles(t *testing.T) {
	cmd := clitest.Program(t, "dedup", clitest.Bundled("router-plain.pcapng"))
	cmd.Args = append([]string{"sh", "-c", `ulimit -n 8; exec "$@"`, "sh", cmd.Path}, cmd.Args[1:]...)
	cmd.Path = "/bin/sh"
	text, err := cmd.CombinedOutput()
	if code := clitest.ExitCode(t, err); code != cli.ExitFailed || !strings.Contains(string(text), "only 8 files may be open") {
		t.Errorf("exit code %d, %s", code, text)
	}
}

// outputSize returns the size of the file that a run writes in a folder, under any name or none.
func outputSize(p *os.Process, dir string) (most int64) {
	files := fmt.Sprintf("/proc/%d/fd/", p.Pid)
	open, _ := os.ReadDir(files) // of a run that has ended, nothing
	for _, f := range open {
		info, err := os.Stat(files + f.Name())
		if name, _ := os.Readlink(files + f.Name()); err == nil && strings.HasPrefix(name, dir) && info.Mode().IsRegular() {
			most = max(most, info.Size())
		}
	}
	return most
}

// TestKilledAnyTime kills runs wherever they are in their output: under the final name there is
// a whole file or none.
func TestKilledAnyTime(t *testing.T) {
	t.Parallel()
	in := generated(t, 100_000)
	dir := t.TempDir()
	out := filepath.Join(dir, "out.pcap")
	if text, err := clitest.Program(t, "dedup", in, "-w", out).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	want := clitest.ReadFile(t, out)
	kills := 20
	if testing.Short() {
		kills = 6
	}
	for range kills {
		if err := os.Remove(out); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		cmd := clitest.Program(t, "dedup", in, "-w", out)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		enough := rand.N(int64(len(want)) * 5 / 4) // more than all: it is killed when the file has its name
		wait.Until(t, "output", func() bool {
			_, err := os.Stat(out)
			return err == nil || outputSize(cmd.Process, dir) >= enough
		})
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
		if got, err := os.ReadFile(out); err == nil && !bytes.Equal(got, want) {
			t.Fatalf("%d of %d bytes under the final name", len(got), len(want))
		}
	}
}

// TestOddInputs checks that an input that is no capture gives one line with its name, and
// exit code 1.
func TestOddInputs(t *testing.T) {
	t.Parallel()
	writeOnly, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer writeOnly.Close()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	w.Close()
	for _, c := range []struct {
		name  string
		stdin *os.File
		want  string
	}{
		{"/dev/null", nil, "/dev/null: offset 0: empty file"},
		{"/dev/zero", nil, "/dev/zero: offset 0: not a pcap or pcapng capture: it begins with the bytes 00000000"},
		{"/dev/full", nil, "/dev/full: offset 0: not a pcap or pcapng capture: it begins with the bytes 00000000"},
		{"/proc/self/mem", nil, "/proc/self/mem: offset 0: read error: input/output error"},
		{t.TempDir(), nil, ": is a directory"},
		{"-", r, "stdin: offset 0: empty file"},
		{"-", writeOnly, "stdin: offset 0: read error: bad file descriptor"},
	} {
		cmd := clitest.Program(t, "dedup", c.name, "-w", filepath.Join(t.TempDir(), "out"))
		if c.stdin != nil {
			cmd.Stdin = c.stdin
		}
		text, err := cmd.CombinedOutput()
		line := string(text)
		if code := clitest.ExitCode(t, err); code != cli.ExitFailed || !strings.Contains(line, c.want) || strings.Count(line, "\n") != 1 {
			t.Errorf("%s: exit code %d, %q, want %q", c.name, code, line, c.want)
		}
	}
}

// TestRotateFull fills the disk within a file: earlier files stay, and nothing of that file
// is left.
func TestRotateFull(t *testing.T) {
	in := clitest.Bundled("router-vlan.pcapng")
	args := []string{"dedup", in, "--window", "n:1", "--rotate-every", "1s"}
	dir := t.TempDir()
	clitest.RunDedup(t, cli.ExitDone, append(args[1:], "-w", filepath.Join(dir, "out.pcapng"))...)
	whole := clitest.RotatedFiles(t, dir, "out")
	full := 1
	for clitest.FileSize(t, whole[full]) <= clitest.FileSize(t, whole[full-1]) {
		full++
	}
	dir = t.TempDir()
	out := filepath.Join(dir, "out.pcapng")
	cmd := clitest.Program(t, append(args, "-w", out)...)
	cmd.Env = append(cmd.Env, fmt.Sprintf("%s=%d", fileLimit, clitest.FileSize(t, whole[full])-1))
	text, err := cmd.CombinedOutput()
	if code := clitest.ExitCode(t, err); code != cli.ExitFailed || !strings.HasPrefix(string(text), "flowdedup: write "+out) || strings.Count(string(text), "\n") != 1 {
		t.Errorf("exit code %d, %q", code, text)
	}
	names := clitest.RotatedFiles(t, dir, "out")
	if len(names) < full || len(names) > len(whole) {
		t.Fatalf("left behind: %q", names)
	}
	for i, name := range names {
		got, want := clitest.ReadAll(t, name), clitest.ReadAll(t, whole[i])
		if i >= full { // the file that failed, and a file that was begun meanwhile
			want = want[:min(len(got), len(want))]
		}
		if strings.Contains(name, ".partial.") != (i == full) {
			t.Errorf("left behind: %q", names)
		}
		clitest.CompareRecords(t, name, got, want)
	}
}

// TestMemoryThatIsNotThere asks for more memory than any machine has.
func TestMemoryThatIsNotThere(t *testing.T) {
	out, errs, code := clitest.Run("dedup", "--memory", "60TiB", clitest.Bundled("loopback.pcap"))
	if code != cli.ExitFailed || out != "" || strings.Count(errs, "\n") != 1 || !strings.Contains(errs, "60 TiB does not fit") {
		t.Errorf("exit code %d, %q, %q", code, out, errs)
	}
}

// newTerminal returns the side of a pseudoterminal that programs write to.
func newTerminal(t *testing.T) *os.File {
	t.Helper()
	control, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { control.Close() })
	fd := int(control.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	terminal, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { terminal.Close() })
	return terminal
}

// TestPacketsToTerminal checks that a terminal gets no packets, but everything else.
func TestPacketsToTerminal(t *testing.T) {
	t.Parallel()
	terminal := newTerminal(t)
	in, out := clitest.Bundled("router-plain.pcapng"), filepath.Join(t.TempDir(), "out.pcapng")
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"dedup", in, "-w", "-"}, cli.ExitUsage, "-w - | tcpdump -r -"},
		{[]string{"dedup", in, "--duplicates", "/dev/stdout"}, cli.ExitUsage, "-w - | tcpdump -r -"},
		{[]string{"live", "-i", "lo", "-w", "-"}, cli.ExitUsage, "-w - | tcpdump -r -"},
		{[]string{"dedup", in, "-w", out}, cli.ExitDone, ""},
	} {
		var stderr strings.Builder
		cmd := clitest.Program(t, c.args...)
		cmd.Stdout, cmd.Stderr = terminal, &stderr
		if code := clitest.ExitCode(t, cmd.Run()); code != c.code || !strings.Contains(stderr.String(), c.want) {
			t.Errorf("%q: exit code %d, stderr %q", c.args, code, &stderr)
		}
	}
}
