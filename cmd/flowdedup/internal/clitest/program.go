// SPDX-License-Identifier: Apache-2.0

package clitest

import (
	"bytes"
	"encoding/json"
	"errors"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/flowdedup/flowdedup/bench/lab/wait"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/commands"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/dedup"
)

// AsProgram makes the test binary run as flowdedup, so that signals, pipes and exit codes
// are tested on a real process.
const AsProgram = "FLOWDEDUP_TEST_AS_PROGRAM"

// collectAt is by how many percent the heap of the tests grows between two collections. Each
// run within the tests begins with little, and half of their time went into collections.
const collectAt = 400

// hangup is SIGHUP, which has no name in browsers.
const hangup = syscall.Signal(1)

// Main is the TestMain of packages whose tests call Program. around runs the program with
// what a test asks for, such as limits; nil for nothing.
func Main(m *testing.M, around func(main func() int) int) {
	if os.Getenv(AsProgram) == "" {
		if os.Getenv("GOGC") == "" {
			debug.SetGCPercent(collectAt)
		}
		if signal.Ignored(hangup) {
			// Below nohup, programs that the tests start would ignore it, too. A signal that is
			// caught here has its default there.
			signal.Notify(make(chan os.Signal, 1), hangup)
		}
		os.Exit(m.Run())
	}
	main := func() int { return commands.Main(os.Args[1:], os.Stdout, os.Stderr) }
	if around == nil {
		os.Exit(main())
	}
	os.Exit(around(main))
}

// Program returns a command that runs the test binary as flowdedup. The TestMain of its
// package must be Main.
func Program(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, args...)
	cmd.Env = append(os.Environ(), AsProgram+"=1")
	return cmd
}

// ExitCode returns the exit code of a process from the error of Wait.
func ExitCode(t *testing.T, err error) int {
	t.Helper()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	t.Fatal(err)
	return -1
}

// Bundled returns the path of a capture of the project.
func Bundled(name string) string {
	return filepath.Join("..", "..", "..", "..", "testdata", "pcaps", name)
}

// Run executes a command line and returns what it printed and its exit code.
func Run(args ...string) (stdout, stderr string, code int) {
	var out, errs bytes.Buffer
	code = commands.Main(args, &out, &errs)
	return out.String(), errs.String(), code
}

// RunDedup runs dedup, checks its exit code, and returns its summary; a failed run may print none.
func RunDedup(t *testing.T, wantCode int, args ...string) dedup.Summary {
	t.Helper()
	var r dedup.Summary
	out, errs, code := Run(append([]string{"dedup", "--json"}, args...)...)
	if code != wantCode {
		t.Fatalf("dedup %s: exit code %d, want %d: %s", strings.Join(args, " "), code, wantCode, errs)
	}
	if out == "" {
		return r
	}
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatalf("dedup %s: %v in %q", strings.Join(args, " "), err, out)
	}
	return r
}

// Found reports whether all duplicates were found, except undecidable packets: the independent
// parser compares the captured bytes of a packet, however few.
func Found(r *dedup.Summary, dups uint64) bool {
	return r.Duplicates <= dups && r.Duplicates+r.Undecidable >= dups
}

// SameCounts reports whether two runs say the same of packets, but for how long it took, which points
// copies had in common, and what outputs made of kept packets.
func SameCounts(a, b dedup.Summary) bool {
	b.Took, b.PacketsPerSecond, b.Within = a.Took, a.PacketsPerSecond, a.Within
	b.BytesOut, b.Stripped, b.Unstripped, b.Stats, b.HeldBytes, b.HeldEarly = a.BytesOut, a.Stripped, a.Unstripped, a.Stats, a.HeldBytes, a.HeldEarly
	b.SplitConversations, b.SampledConversations = a.SplitConversations, a.SampledConversations
	return reflect.DeepEqual(a, b)
}

// Sample returns every n-th case where tests shall be short, as under the race detector:
// cases of one kind run the same goroutines. All run otherwise.
func Sample[T any](n int, cases []T) (some []T) {
	if !testing.Short() {
		return cases
	}
	for i := 0; i < len(cases); i += n {
		some = append(some, cases[i])
	}
	return some
}

// NeedTcpdump skips a test if there is no tcpdump to compile expressions.
// NeedTcpdump returns the path of tcpdump, and skips the test where there is none.
func NeedTcpdump(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("tcpdump")
	if err != nil {
		t.Skip(err)
	}
	return path
}

// WordsOf splits a command line. Within a word a tilde stands for a space, and the first of each
// pair of names for the second, which may have spaces.
func WordsOf(line string, names ...string) []string {
	words, replacer := strings.Fields(line), strings.NewReplacer(append([]string{"~", " "}, names...)...)
	for i, word := range words {
		words[i] = replacer.Replace(word)
	}
	return words
}

// Overrule appends flags to usual pairs of a flag and its value, and leaves out pairs whose flag is
// in more.
func Overrule(usual, more []string) (all []string) {
	for pair := range slices.Chunk(usual, 2) {
		if !slices.Contains(more, pair[0]) {
			all = append(all, pair...)
		}
	}
	return append(all, more...)
}

// Tool returns the path of a program, or skips.
func Tool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skip(name, "is not installed")
	}
	return path
}

// Dialled connects to a program that will listen.
func Dialled(t *testing.T, port string) (conn net.Conn) {
	t.Helper()
	wait.Until(t, "who listens at port "+port, func() (done bool) {
		var err error
		conn, err = net.Dial("tcp", "127.0.0.1:"+port)
		return err == nil
	})
	return conn
}

// AtOnce runs subtests in parallel, as they sleep most of the time: more of them than the
// machine has CPUs.
func AtOnce[C any](t *testing.T, cases map[string]C, test func(*testing.T, C)) {
	t.Helper()
	t.Parallel()
	var all sync.WaitGroup
	for name, c := range cases {
		all.Go(func() { t.Run(name, func(t *testing.T) { test(t, c) }) })
	}
	all.Wait()
}
