package bpf

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/bpf"

	"github.com/flowdedup/flowdedup/capture"
)

// Filter says which frames are wanted: an expression, or a program that takes its
// place. The zero value wants all.
type Filter struct {
	Expr    string
	Program []bpf.RawInstruction // for frames of every link type
}

// All reports whether all frames are wanted.
func (f *Filter) All() bool { return f.Expr == "" && len(f.Program) == 0 }

// For returns the program for frames of a link type. Parameters and errors are those of
// [Compile].
func (f *Filter) For(ctx context.Context, link capture.LinkType, snaplen int, iface string) ([]bpf.RawInstruction, error) {
	if len(f.Program) > 0 {
		return f.Program, nil
	}
	return Compile(ctx, f.Expr, link, snaplen, iface)
}

// Reasons why an expression has no program; test with errors.Is.
var (
	// ErrExpression is a mistake in the expression, or a question that frames of this
	// link type cannot answer. The text is libpcap's.
	ErrExpression = errors.New("wrong filter expression")
	// ErrNoCompiler says that tcpdump is not installed.
	ErrNoCompiler = errors.New("filter expressions need tcpdump: install it, or use a program that tcpdump -ddd printed elsewhere")
)

// compileTime is how long tcpdump may take: it looks up names of hosts.
const compileTime = 30 * time.Second

// Compile returns the program of an expression for frames of a link type. The program
// accepts snaplen bytes of a frame that matches; the empty expression matches all. The
// error wraps [ErrExpression] or [ErrNoCompiler], or says why tcpdump could not run.
//
// iface is "" for frames from a file. For a program that a socket will run, it names the
// interface, which has the link type (LinkLinuxSLL2 stands for any other too). The
// kernel strips the VLAN tag before it runs the program, and it alone knows which way
// the packet went. So expressions with the words vlan, inbound, outbound or ifindex are
// compiled as tcpdump -i does. That takes an interface that is up and the permission to
// capture from it (CAP_NET_RAW of tcpdump itself: file capabilities of this program do
// not pass on to it).
//
// As with tcpdump -i, an expression without the word vlan does not see the tag, and
// matches what is behind it; on a file it does not match. "ip broadcast" knows the
// broadcast addresses of no network, since tcpdump is not told one.
func Compile(ctx context.Context, expr string, link capture.LinkType, snaplen int, iface string) ([]bpf.RawInstruction, error) {
	ctx, cancel := context.WithTimeout(ctx, compileTime)
	defer cancel()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if name := liveNames[link]; iface != "" && name != "" && needsKernel(expr) {
		return tcpdump(ctx, nil, "-i", iface, "-p", "-y", name, "-s", strconv.Itoa(snaplen), "-ddd", "--", expr)
	}
	return tcpdump(ctx, bytes.NewReader(fileHeader(link, snaplen)), "-r", "-", "-ddd", "--", expr)
}

// needsKernel tells whether an expression may ask for what the kernel keeps beside the
// frame. A host whose name has such a word opens the interface for nothing; the program
// is right all the same.
func needsKernel(expr string) bool {
	for _, word := range []string{"vlan", "inbound", "outbound", "ifindex"} {
		if strings.Contains(expr, word) {
			return true
		}
	}
	return false
}

// liveNames are libpcap's names of the link types that interfaces have and that have no
// cooked header, which would hold the direction and leave no place for tags.
var liveNames = map[capture.LinkType]string{
	capture.LinkEthernet:  "EN10MB",
	capture.LinkRaw:       "RAW",
	capture.LinkIEEE80211: "IEEE802_11",
	capture.LinkPrism:     "PRISM_HEADER",
	capture.LinkRadiotap:  "IEEE802_11_RADIO",
}

// fileHeader makes an empty pcap file. tcpdump compiles for it as for any file of its
// link type: it opens no device, and knows every link type by number.
func fileHeader(link capture.LinkType, snaplen int) []byte {
	header := make([]byte, 24)
	for at, v := range map[int]uint32{0: 0xA1B2C3D4, 4: 4<<16 | 2, 16: uint32(snaplen), 20: uint32(link)} {
		binary.LittleEndian.PutUint32(header[at:], v)
	}
	return header
}

// maxOutput is far above what the longest program takes.
const maxOutput = 4 << 20

// tcpdump runs tcpdump and reads the program that it prints.
func tcpdump(ctx context.Context, stdin io.Reader, args ...string) ([]bpf.RawInstruction, error) {
	path, err := lookup()
	if err != nil {
		return nil, err
	}
	var out, errs limitedBuffer
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, &out, &errs
	cmd.WaitDelay = time.Second
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("compile the filter with tcpdump: %w", ctx.Err())
	case errors.As(err, &exit) && lastError(errs.buf.String()) != "":
		return nil, fmt.Errorf("%w: tcpdump: %s", ErrExpression, lastError(errs.buf.String()))
	case err != nil:
		return nil, fmt.Errorf("compile the filter with tcpdump: %w", err)
	}
	program, err := Parse(&out.buf)
	if err != nil {
		return nil, fmt.Errorf("what %s -ddd printed: %w", path, err)
	}
	return program, nil
}

// beyondPath lists folders that are in the PATH of root alone.
var beyondPath = []string{"/usr/local/sbin/tcpdump", "/usr/sbin/tcpdump", "/sbin/tcpdump"}

// lookup finds tcpdump.
func lookup() (string, error) {
	for _, name := range append([]string{"tcpdump"}, beyondPath...) {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", ErrNoCompiler
}

// lastError returns the last line in which tcpdump says what is wrong, or "".
func lastError(stderr string) string {
	last := ""
	for line := range strings.Lines(stderr) {
		if text, found := strings.CutPrefix(line, "tcpdump: "); found {
			last = strings.TrimSpace(text)
		}
	}
	return last
}

// limitedBuffer is a buffer that refuses more than maxOutput.
type limitedBuffer struct{ buf bytes.Buffer }

func (l *limitedBuffer) Write(p []byte) (int, error) {
	if l.buf.Len()+len(p) > maxOutput {
		return 0, errors.New("too much output")
	}
	return l.buf.Write(p)
}
