// SPDX-License-Identifier: Apache-2.0

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
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/bpf"

	"github.com/flowdedup/flowdedup/capture"
)

// Filter selects frames by an expression, or by a program instead. The zero value selects
// all.
type Filter struct {
	Expr    string
	Program []bpf.RawInstruction // for frames of every link type
}

// All reports whether the filter selects all frames.
func (f *Filter) All() bool { return f.Expr == "" && len(f.Program) == 0 }

// For returns the program for frames of a link type. It accepts snaplen bytes of a frame that
// matches. The error wraps [ErrExpression] or [ErrNoCompiler], or says why tcpdump could not
// run. A program in the Filter is returned unchanged.
//
// iface is "" for frames from a file. For a program that a socket will run, it names the
// interface. link is then the link type of the interface, or LinkLinuxSLL2 for any other.
// The kernel strips the VLAN tag before it runs the program, and only the kernel knows the
// direction of the packet. So For calls tcpdump -i for expressions with the words vlan,
// inbound, outbound or ifindex. That needs an interface that is up and the permission to
// capture from it (CAP_NET_RAW of tcpdump itself: it does not inherit file capabilities of
// this program).
//
// As with tcpdump -i, an expression without the word vlan ignores the tag, and matches what
// follows it; on a file it does not match. "ip broadcast" knows no network's broadcast
// address, since tcpdump gets none.
func (f *Filter) For(ctx context.Context, link capture.LinkType, snaplen int, iface string) ([]bpf.RawInstruction, error) {
	if len(f.Program) > 0 {
		return f.Program, nil
	}
	return compile(ctx, f.Expr, link, snaplen, iface)
}

// Reasons why an expression has no program; test with errors.Is.
var (
	// ErrExpression says that the expression is wrong, or not possible for frames of this
	// link type. The text is libpcap's.
	ErrExpression = errors.New("wrong filter expression")
	// ErrNoCompiler says that tcpdump is not installed.
	ErrNoCompiler = errors.New("filter expressions need tcpdump: install it, or use a program that tcpdump -ddd printed elsewhere")
)

// compileTime is how long tcpdump may take. It looks up names of hosts.
const compileTime = 30 * time.Second

// compile calls tcpdump for [Filter.For].
func compile(ctx context.Context, expr string, link capture.LinkType, snaplen int, iface string) ([]bpf.RawInstruction, error) {
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

// needsKernel reports whether an expression may need data that the kernel keeps outside of the
// frame. The name of a host may contain such a word. The program is right then too.
func needsKernel(expr string) bool {
	words := []string{"vlan", "inbound", "outbound", "ifindex"}
	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(expr, word) })
}

// liveNames are libpcap's names of link types of interfaces, without cooked types. A cooked
// header holds the direction, and has no place for tags.
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

// maxOutput is far above the size of the longest program.
const maxOutput = 4 << 20

// displayField is a field of display filters, which Wireshark has beside capture filters.
const displayField = `(^|[ !(])(eth|vlan|arp|ipv?6?|icmp|tcp|udp|dns|http|tls|frame)\.[a-z]`

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
		hint := ""
		if is, _ := regexp.MatchString(displayField, args[len(args)-1]); is {
			hint = ": this looks like a display filter of Wireshark; a filter is 'tcp port 443' or 'host 192.0.2.1'"
		}
		return nil, fmt.Errorf("%w: tcpdump: %s%s", ErrExpression, lastError(errs.buf.String()), hint)
	case err != nil:
		return nil, fmt.Errorf("compile the filter with tcpdump: %w", err)
	}
	program, err := Parse(&out.buf)
	if err != nil {
		return nil, fmt.Errorf("what %s -ddd printed: %w", path, err)
	}
	return program, nil
}

// beyondPath lists folders that only root has in its PATH.
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

// lastError returns the last error line of tcpdump, or "".
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
