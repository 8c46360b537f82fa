package cli

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/schollz/progressbar/v3"
)

// TestStdoutByPath keeps the summary out of the packets when standard output
// is named by its path.
func TestStdoutByPath(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no /dev/stdout")
	}
	want, err := program(t, "dedup", bundled("router-plain.pcapng"), "-w", "-").Output()
	if err != nil {
		t.Fatal(err)
	}
	cmd := program(t, "dedup", "--json", bundled("router-plain.pcapng"), "-w", "/dev/stdout")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	got, err := cmd.Output()
	if err != nil || !bytes.Equal(got, want) || !strings.HasPrefix(stderr.String(), `{"packets_in":`) {
		t.Errorf("%v: %d bytes, want %d; stderr %q", err, len(got), len(want), &stderr)
	}
}

// intoClosedPipe runs a command whose standard output nobody reads.
func intoClosedPipe(t *testing.T, cmd *exec.Cmd) (stderr string, code int) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	defer w.Close()
	var errs strings.Builder
	cmd.Stdout, cmd.Stderr = w, &errs
	code = exitCodeOf(t, cmd.Run())
	return errs.String(), code
}

// TestClosedPipeCutsOthers wants a failure where a reader that leaves early ends another
// output too, which has what was processed until then.
func TestClosedPipeCutsOthers(t *testing.T) {
	other := filepath.Join(t.TempDir(), "other")
	for _, args := range [][]string{
		{"dedup", "-w", "-", "--duplicates", other},
		{"distinct", "--json", "--list", "--every", "1s", "--csv", other},
	} {
		stderr, code := intoClosedPipe(t, program(t, append(args, bundled("router-plain.pcapng"))...))
		if code != exitFailed || !strings.Contains(stderr, other) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: exit code %d, stderr %q", args, code, stderr)
		}
		if err := os.Remove(other); err != nil {
			t.Errorf("%s: nothing was kept: %v", args, err)
		}
	}
}

// TestFullStdout tells once that standard output is full.
func TestFullStdout(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("no /dev/full")
	}
	defer full.Close()
	cmd := program(t, "distinct", "--list", "--every", "1s", bundled("router-plain.pcapng"))
	var stderr strings.Builder
	cmd.Stdout, cmd.Stderr = full, &stderr
	if code := exitCodeOf(t, cmd.Run()); code != exitFailed || strings.Count(stderr.String(), "\n") != 1 {
		t.Errorf("exit code %d, stderr %q", code, &stderr)
	}
}

// TestQuietList prints the list and no table.
func TestQuietList(t *testing.T) {
	out, errs, code := run("distinct", "--quiet", "--list", "--of", "src", bundled("router-plain.pcapng"))
	if code != exitDone || errs != "" || strings.Count(out, "\n") != strings.Count(out, "\tsrc\t") || out == "" {
		t.Errorf("exit code %d, stdout %q, stderr %q", code, out, errs)
	}
}

// TestQuietTable prints what is printed without --quiet, unless a file takes the result.
func TestQuietTable(t *testing.T) {
	in := bundled("router-plain.pcapng")
	want, _, _ := run("distinct", in)
	csv := filepath.Join(t.TempDir(), "counts.csv")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"distinct", "--quiet", in}, want},
		{[]string{"distinct", "--quiet", "--csv", csv, in}, ""},
	} {
		out, errs, code := run(c.args...)
		if code != exitDone || errs != "" || out != c.want || want == "" {
			t.Errorf("%q: exit code %d, stdout %q, stderr %q", c.args, code, out, errs)
		}
	}
}

// TestWarningsBesideProgress warns on one goroutine while the line of progress
// is drawn on another, for the race detector.
func TestWarningsBesideProgress(t *testing.T) {
	e := &env{stderr: io.Discard}
	p := &progress{mu: &e.mu, bar: progressbar.NewOptions64(100, progressbar.OptionSetWriter(io.Discard))}
	e.clearProgress = p.clear
	var wg sync.WaitGroup
	wg.Go(func() {
		for range maxWarnings + 1 {
			e.warn(errors.New("damage"))
		}
	})
	for i := range int64(100) {
		p.next = time.Time{}
		p.update(i, 100, uint64(i))
	}
	wg.Wait()
	p.close()
	e.report(errors.New("after the line is gone"))
}
