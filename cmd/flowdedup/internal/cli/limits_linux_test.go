package cli

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
	"time"

	"github.com/flowdedup/flowdedup/bench/workload"
)

const (
	// fileLimit is how many bytes the program may write to one file.
	fileLimit = "FLOWDEDUP_TEST_FILE_LIMIT"
	// peakFile is where the program leaves the most memory that it had.
	peakFile = "FLOWDEDUP_TEST_PEAK"
)

// asLimited runs main as the environment wants it.
func asLimited(main func() int) int {
	if n, err := strconv.ParseUint(os.Getenv(fileLimit), 10, 64); err == nil {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: n, Max: n}); err != nil {
			panic(err)
		}
	}
	code := main()
	if name := os.Getenv(peakFile); name != "" {
		// Not ru_maxrss, which a process takes over from the one that starts it.
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

// generated writes a capture of so many packets of 64 bytes.
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

// entries returns the names in a folder.
func entries(t *testing.T, dir string) (names []string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

// TestFileLimit runs out of room after so many bytes: an older file stays, and what there
// was room for is beside it.
func TestFileLimit(t *testing.T) {
	in := bundled("router-plain.pcapng")
	for _, ending := range []string{"", ".gz", ".zst", ".lz4"} {
		dir := t.TempDir()
		out := filepath.Join(dir, "out.pcapng"+ending)
		runDedup(t, exitDone, in, "-w", out)
		size := fileSize(t, out)
		if err := os.WriteFile(out, []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, limit := range []int64{0, 1, size / 2, size - 1, size} {
			cmd := program(t, "dedup", in, "-w", out)
			cmd.Env = append(cmd.Env, fmt.Sprintf("%s=%d", fileLimit, limit))
			text, err := cmd.CombinedOutput()
			code := exitCodeOf(t, err)
			if limit == size {
				if code != exitDone || fileSize(t, out) != size {
					t.Errorf("%s: exit code %d with room for all: %s", ending, code, text)
				}
				continue
			}
			want := "flowdedup: write " + out + ": file too large\n"
			if partial := filepath.Join(dir, "out.partial.pcapng"+ending); len(entries(t, dir)) > 1 {
				want += "flowdedup: " + out + " was not written; what was processed is in " + partial + "\n"
				if ending == "" && readAll(t, partial) == nil {
					t.Errorf("room for %d of %d bytes: nothing to read", limit, size)
				}
				if err := os.Remove(partial); err != nil {
					t.Error(err)
				}
			}
			if code != exitFailed || string(text) != want {
				t.Errorf("%s: room for %d of %d bytes: exit code %d, %q", ending, limit, size, code, text)
			}
			if old, err := os.ReadFile(out); err != nil || string(old) != "old" {
				t.Errorf("%s: room for %d of %d bytes: the old file holds %.20q, %v", ending, limit, size, old, err)
			}
		}
		if names := entries(t, dir); len(names) != 1 {
			t.Errorf("%s: left behind: %q", ending, names)
		}
	}
}

// TestFewFiles wants an error of ours where the Go runtime would end the process.
func TestFewFiles(t *testing.T) {
	cmd := program(t, "dedup", bundled("router-plain.pcapng"))
	cmd.Args = append([]string{"sh", "-c", `ulimit -n 8; exec "$@"`, "sh", cmd.Path}, cmd.Args[1:]...)
	cmd.Path = "/bin/sh"
	text, err := cmd.CombinedOutput()
	if code := exitCodeOf(t, err); code != exitFailed || !strings.Contains(string(text), "only 8 files may be open") {
		t.Errorf("exit code %d, %s", code, text)
	}
}

// TestKilledAnyTime finds a whole file under the final name, or none.
func TestKilledAnyTime(t *testing.T) {
	in := generated(t, 100_000)
	dir := t.TempDir()
	out := filepath.Join(dir, "out.pcap")
	begin := time.Now()
	if text, err := program(t, "dedup", in, "-w", out).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	took := time.Since(begin)
	want, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if err := os.Remove(out); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		cmd := program(t, "dedup", in, "-w", out)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(rand.N(took))
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
		if got, err := os.ReadFile(out); err == nil && !bytes.Equal(got, want) {
			t.Fatalf("%d of %d bytes under the final name", len(got), len(want))
		}
	}
}

// TestOddInputs wants one line that names an input that is no capture, and exit code 1.
func TestOddInputs(t *testing.T) {
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
		cmd := program(t, "dedup", c.name, "-w", filepath.Join(t.TempDir(), "out"))
		if c.stdin != nil {
			cmd.Stdin = c.stdin
		}
		text, err := cmd.CombinedOutput()
		line := string(text)
		if code := exitCodeOf(t, err); code != exitFailed || !strings.Contains(line, c.want) || strings.Count(line, "\n") != 1 {
			t.Errorf("%s: exit code %d, %q, want %q", c.name, code, line, c.want)
		}
	}
}
