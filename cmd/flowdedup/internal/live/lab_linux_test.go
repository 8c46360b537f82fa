// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/flowdedup/flowdedup/bench/lab/wait"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/monitor"
)

// liveRun is a running "flowdedup live".
type liveRun struct{ *clitest.Process }

// captureArgs returns the arguments of all live runs of a test: those named TestLiveXDP
// capture through AF_XDP.
func captureArgs(t *testing.T) []string {
	if strings.HasPrefix(t.Name(), "TestLiveXDP") {
		return []string{"--capture", "xdp"}
	}
	return nil
}

// startLive starts a live run and waits until it captures.
func startLive(t *testing.T, args ...string) *liveRun {
	t.Helper()
	r := startProgram(t, args...)
	r.Event(" started ")
	return r
}

func startProgram(t *testing.T, args ...string) *liveRun {
	t.Helper()
	defaults := []string{"--ring-size", "8MiB"}
	if !slices.Contains(args, "exact") && !slices.Contains(args, "--learn") {
		defaults = append(defaults, "--memory", "1MiB") // long windows would fill hundreds
	}
	r := &liveRun{clitest.NewProcess(t, slices.Concat([]string{"live"}, captureArgs(t), clitest.Overrule(defaults, args))...)}
	r.Start()
	return r
}

// stop ends the run as a service manager does, and returns its summary.
func (r *liveRun) stop() liveSummary {
	r.T.Helper()
	r.signal(syscall.SIGTERM)
	return r.end(143)
}

// signal sends a signal. The program has stopped when SIGSTOP returns.
func (r *liveRun) signal(s syscall.Signal) {
	r.T.Helper()
	if err := r.Cmd.Process.Signal(s); err != nil {
		r.T.Fatal(err)
	}
	if s != syscall.SIGSTOP {
		return
	}
	wait.Until(r.T, "the program to stop", func() bool {
		stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", r.Cmd.Process.Pid))
		return bytes.Contains(stat, []byte(") T "))
	})
}

// end waits for the end of the run, and returns its summary.
func (r *liveRun) end(code int) liveSummary {
	r.T.Helper()
	if got := r.Wait(); got != code {
		r.T.Fatalf("exit code %d, want %d\n%s", got, code, r.Stderr.String())
	}
	return r.summary(r.Stdout.Bytes())
}

// liveSummary is a summary, some of whose parts tests look up by name.
type liveSummary struct {
	monitor.Summary
	Reasons  map[string]uint64 `json:"differences"`
	Forwards []map[string]any  `json:"forwards"`
}

// dropped adds up what the kernel dropped.
func (s *liveSummary) dropped() (n uint64) {
	for i := range s.Interfaces {
		n += s.Interfaces[i].Dropped
	}
	return n
}

// differ checks that the sampled copies differ in exactly these ways.
func (s *liveSummary) differ(t *testing.T, ways ...string) {
	t.Helper()
	for way, n := range s.Reasons {
		want := uint64(0)
		if way == "sampled" || slices.Contains(ways, way) {
			want = s.Reasons["sampled"]
		}
		if n != want {
			t.Errorf("%s: %d, want %d: %v", way, n, want, s.Reasons)
		}
	}
	if s.Reasons["sampled"] == 0 {
		t.Error("no copy was sampled")
	}
}

func (r *liveRun) summary(text []byte) (s liveSummary) {
	r.T.Helper()
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	if err := json.Unmarshal(lines[len(lines)-1], &s); err != nil {
		r.T.Fatalf("summary %q: %v", text, err)
	}
	return s
}

// rowsOf returns the JSON lines of a file.
func rowsOf[T any](t *testing.T, name string) (rows []T) {
	t.Helper()
	for line := range bytes.Lines(clitest.ReadFile(t, name)) {
		var row T
		if err := json.Unmarshal(line, &row); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		rows = append(rows, row)
	}
	return rows
}

// refusal is a command line of live, how it ends, and a part of what it says.
type refusal struct {
	args string
	code int
	text string
}

// endsAs runs command lines that go on as base, and checks that each refusal is one line.
func endsAs(t *testing.T, base string, cases []refusal) {
	t.Helper()
	for _, c := range cases {
		args := []string{"live"}
		for _, word := range shellWord.FindAllString(base+" "+c.args, -1) {
			args = append(args, strings.Trim(word, "'"))
		}
		text, err := clitest.Program(t, args...).CombinedOutput()
		out, code := string(text), clitest.ExitCode(t, err)
		if code != c.code || !strings.Contains(out, c.text) || code != cli.ExitDone && strings.Count(out, "\n") != 1 {
			t.Errorf("live %s %s: exit code %d: %s", base, c.args, code, out)
		}
	}
}

// shellWord is a word of a command line, which may have quotes.
var shellWord = regexp.MustCompile(`'[^']*'|\S+`)

func canIP(arguments string) bool {
	return exec.Command("ip", strings.Fields(arguments)...).Run() == nil
}

func pidOf(r *liveRun) string { return strconv.Itoa(r.Cmd.Process.Pid) }

// packetsIn counts the packets of a capture that may still grow, -1 if there is none.
func packetsIn(name string) int {
	src, err := pcapfile.Open(name, pcapfile.Options{})
	if err != nil {
		return -1
	}
	defer src.Close()
	var b capture.Batch
	for n := 0; ; n += len(b.Frames) {
		if src.Next(&b) != nil {
			return n
		}
	}
}
