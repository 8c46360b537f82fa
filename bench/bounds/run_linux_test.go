// SPDX-License-Identifier: Apache-2.0

package bounds

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	benchlab "github.com/flowdedup/flowdedup/bench/lab"
	"github.com/flowdedup/flowdedup/bench/lab/wait"
)

// runTimeout is the time that a command may take on a busy machine. A command that takes
// longer hangs.
const runTimeout = 5 * time.Minute

// most is the most that a command took.
type most struct {
	bytes int64
	took  time.Duration
	input string
	runs  int
}

// runner runs the program within the limit.
type runner struct {
	exe, folder, small string
	cgroup             string // or "": then memory is looked at when a command has ended
	how                string // in words
	namespace          error  // why there is none, and so no peer
	most               map[string]most
}

func newRunner(t *testing.T) *runner {
	t.Helper()
	small, err := filepath.Abs(bundled("router-vlan.pcapng"))
	if err != nil {
		t.Fatal(err)
	}
	r := &runner{exe: filepath.Join(benchlab.Build(t, "../../cmd/flowdedup"), "flowdedup"), folder: diskFolder(t), small: small, namespace: enterNamespace(), most: map[string]most{}}
	if r.namespace != nil {
		t.Logf("commands that read from peers are left out: %v", r.namespace)
	}
	r.makeCgroup(t)
	return r
}

// makeCgroup makes a cgroup of either version.
func (r *runner) makeCgroup(t *testing.T) {
	t.Helper()
	r.how = "whose memory was compared with the limit when they had ended: no cgroup can be made here"
	for _, c := range []struct{ mount, file, how string }{
		{"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "version 1"}, {"/sys/fs/cgroup", "memory.max", "version 2"},
	} {
		dir := filepath.Join(c.mount, "flowdedup-bounds-"+strconv.Itoa(os.Getpid()))
		if os.Mkdir(dir, 0o755) != nil {
			continue
		}
		// The kernel lets the folder go when the last process is gone.
		t.Cleanup(func() {
			if !wait.For(func() bool { return os.Remove(dir) == nil }) {
				t.Error(dir, " stays")
			}
		})
		if os.WriteFile(filepath.Join(dir, c.file), []byte(strconv.Itoa(limit)), 0) == nil {
			r.cgroup, r.how = dir, "in a cgroup of "+c.how
			return
		}
	}
}

// command returns a command in a folder of its own, as eight processors would run it.
func (r *runner) command(ctx context.Context, t *testing.T, args []string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(ctx, r.exe, args...)
	if r.cgroup != "" {
		cmd = exec.CommandContext(ctx, "sh", append([]string{"-c", `echo $$ > "$0"/cgroup.procs && exec "$@"`, r.cgroup, r.exe}, args...)...)
	}
	dir, err := os.MkdirTemp(r.folder, "run-")
	if err != nil {
		t.Fatal(err)
	}
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOMAXPROCS=8")
	return cmd
}

// try gives an input to a command.
func (r *runner) try(t *testing.T, c command, in string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), runTimeout)
	defer cancel()
	var peer net.Listener
	words := map[string]string{"IN": in, "SMALL": r.small, "COPY": in + ".copy" + filepath.Ext(in), "KEY": strings.Repeat("5a", 32)}
	if c.names("COPY") {
		if err := copyFile(words["COPY"], in); err != nil {
			t.Fatal(err)
		}
		defer os.Remove(words["COPY"])
	}
	if c.live() {
		if r.namespace != nil {
			return
		}
		var err error
		if peer, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
		words["PEER"] = "tcp://" + peer.Addr().String()
	}
	cmd := r.command(ctx, t, c.arguments(words))
	defer os.RemoveAll(cmd.Dir)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	began := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var fed sync.WaitGroup
	if c.live() {
		fed.Go(func() {
			feed(peer, in)
			_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended
		})
	}
	err := cmd.Wait()
	if peer != nil {
		_ = peer.Close() // the peer may have done so
		fed.Wait()
	}
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	r.note(c, filepath.Base(in), cmd.ProcessState, time.Since(began))
	if ctx.Err() != nil {
		t.Errorf("%s: still running after %v: %s", c.line, runTimeout, &stderr)
		return
	}
	if why := wrong(c, cmd.ProcessState, stderr.String()); why != "" {
		t.Errorf("%s: %s: %.2000s", c.line, why, &stderr)
	}
	if peak := peakOf(cmd.ProcessState); r.cgroup == "" && peak > limit {
		t.Errorf("%s: %d MiB", c.line, peak>>20)
	}
}

// copyFile makes another file with the same content.
func copyFile(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// feed sends a file to any client, until it is read or the reader has had enough: errors
// mean that it has.
func feed(peer net.Listener, name string) {
	conn, err := peer.Accept()
	if err != nil {
		return
	}
	defer conn.Close()
	_ = peer.Close() // the reader connects once
	f, err := os.Open(name)
	if err != nil {
		return // the test made it
	}
	defer f.Close()
	if _, err := io.Copy(conn, f); err != nil || conn.(*net.TCPConn).CloseWrite() != nil {
		return
	}
	_, _ = conn.Read(make([]byte, 1)) // until the reader leaves
}

// peakOf is the peak memory of a process: at least the memory of the process that started
// it.
func peakOf(state *os.ProcessState) int64 {
	return int64(state.SysUsage().(*syscall.Rusage).Maxrss) << 10
}

func (r *runner) note(c command, in string, state *os.ProcessState, took time.Duration) {
	m := r.most[c.line]
	if peak := peakOf(state); peak > m.bytes {
		m.bytes, m.input = peak, in
	}
	m.took = max(m.took, took)
	m.runs++
	r.most[c.line] = m
}

// mostLines bounds the lines of a run: ten warnings, and its end; live also prints a
// status each ten seconds, and windows that closed.
const mostLines, mostLinesLive = 16, 80

// wrong returns the fault in the end of a command, or "".
func wrong(c command, state *os.ProcessState, stderr string) string {
	codes := []int{0, 1, 3}
	switch {
	case c.live():
		codes = []int{1, 143}
	case strings.HasPrefix(c.line, "compare "), strings.HasPrefix(c.line, "verify "):
		codes = append(codes, 4)
	}
	code := state.ExitCode()
	if !slices.Contains(codes, code) {
		return fmt.Sprint("ended with ", state)
	}
	lines := slices.Collect(strings.Lines(stderr))
	if len(lines) > mostLines && !c.live() || len(lines) > mostLinesLive {
		return fmt.Sprintf("%d lines", len(lines))
	}
	if len(lines) == 0 && code != 0 && code != 4 {
		return fmt.Sprint("no word, and exit code ", code)
	}
	for _, line := range lines {
		if why := wrongLine(c, line); why != "" {
			return why
		}
	}
	return ""
}

// longest is the length of the longest line, which names a file or an interface.
const longest = 2000

// wrongLine returns the fault in a line of standard error, or "".
func wrongLine(c command, line string) string {
	text, ended := strings.CutSuffix(line, "\n")
	switch {
	case !ended, !utf8.ValidString(text), strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }):
		return fmt.Sprintf("not a line of text: %.200q", line)
	case len(text) > longest:
		return fmt.Sprintf("a line of %d bytes", len(text))
	case !c.live() && !strings.HasPrefix(text, "flowdedup: "):
		return fmt.Sprintf("a line of somebody else: %.200q", line)
	}
	return ""
}
