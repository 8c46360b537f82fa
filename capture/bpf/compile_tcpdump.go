//go:build !libpcap

package bpf

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/bpf"
)

// compileFile has tcpdump compile for a capture file, which it reads from a pipe.
func compileFile(ctx context.Context, expr string, header []byte) ([]bpf.RawInstruction, error) {
	return tcpdump(ctx, bytes.NewReader(header), "-r", "-", "-ddd", "--", expr)
}

// compileLive has tcpdump compile for an interface, which it opens for that.
func compileLive(ctx context.Context, expr, link string, snaplen int, iface string) ([]bpf.RawInstruction, error) {
	return tcpdump(ctx, nil, "-i", iface, "-p", "-y", link, "-s", strconv.Itoa(snaplen), "-ddd", "--", expr)
}

// maxOutput is far above what the longest program takes.
const maxOutput = 4 << 20

// tcpdump runs tcpdump and reads the program that it prints.
func tcpdump(ctx context.Context, stdin io.Reader, args ...string) ([]bpf.RawInstruction, error) {
	path, err := lookup()
	if err != nil {
		return nil, err
	}
	var out, errs limited
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, &out, &errs
	cmd.WaitDelay = time.Second
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("compile the filter with tcpdump: %w", ctx.Err())
	case errors.As(err, &exit) && complaint(errs.buf.String()) != "":
		return nil, wrongExpression("tcpdump", complaint(errs.buf.String()))
	case err != nil:
		return nil, fmt.Errorf("compile the filter with tcpdump: %w", err)
	}
	program, err := Parse(&out.buf)
	if err != nil {
		return nil, fmt.Errorf("what %s -ddd printed: %w", path, err)
	}
	return program, nil
}

// beyondPath is where tcpdump may be, and only root's PATH leads.
var beyondPath = []string{"/usr/local/sbin/tcpdump", "/usr/sbin/tcpdump", "/sbin/tcpdump"}

// lookup finds tcpdump in PATH or beyond.
func lookup() (string, error) {
	for _, name := range append([]string{"tcpdump"}, beyondPath...) {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", ErrNoCompiler
}

// complaint returns the last line in which tcpdump says what is wrong, or "".
func complaint(stderr string) string {
	last := ""
	for line := range strings.Lines(stderr) {
		if text, found := strings.CutPrefix(line, "tcpdump: "); found {
			last = strings.TrimSpace(text)
		}
	}
	return last
}

// limited is a buffer that refuses more than maxOutput.
type limited struct{ buf bytes.Buffer }

func (l *limited) Write(p []byte) (int, error) {
	if l.buf.Len()+len(p) > maxOutput {
		return 0, errors.New("too much output")
	}
	return l.buf.Write(p)
}
