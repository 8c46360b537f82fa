package bpf

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/net/bpf"

	"github.com/flowdedup/flowdedup/capture"
)

// Reasons why an expression has no program; test with errors.Is.
var (
	// ErrExpression is a mistake in the expression, or one that this kind of link
	// cannot answer. The text is libpcap's.
	ErrExpression = errors.New("wrong filter expression")
	// ErrNoCompiler says that there is nothing to compile with.
	ErrNoCompiler = errors.New("filter expressions need tcpdump: install it, build with -tags libpcap, or use a program that tcpdump -ddd printed elsewhere")
)

// compileTime is how long compiling may take: names of hosts are looked up.
const compileTime = 30 * time.Second

// Compile returns the program of an expression for frames of a link type, of which it
// accepts snaplen bytes; the empty expression accepts all. The error wraps
// [ErrExpression], [ErrNoCompiler] or, for an interface, [ErrKernel], or says why the
// compiler could not be run.
//
// iface is "" for frames from a file. For a program to be attached to a socket it names
// the interface, which has the link type (LinkLinuxSLL2 stands for any other too): the
// kernel strips the VLAN tag from a frame before it runs the program, and knows on its
// own which way the packet went. libpcap asks it for both where it is told that the
// interface is live, which takes the permission to capture from it (CAP_NET_RAW, of
// tcpdump too: file capabilities do not pass on to it), and the interface must be up.
// So only expressions with the words vlan, inbound, outbound or ifindex are compiled
// that way. As with tcpdump -i, an expression that says nothing of VLANs does not see
// the tag, and matches what is behind; on a file it does not. "ip broadcast" knows the
// broadcast addresses of no network, since it is not told one.
func Compile(ctx context.Context, expr string, link capture.LinkType, snaplen int, iface string) ([]bpf.RawInstruction, error) {
	ctx, cancel := context.WithTimeout(ctx, compileTime)
	defer cancel()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var program []bpf.RawInstruction
	var err error
	name, named := liveNames[link]
	if iface != "" && named && asksKernel(expr) {
		program, err = compileLive(ctx, expr, name, snaplen, iface)
	} else {
		program, err = compileFile(ctx, expr, fileHeader(link, snaplen))
	}
	if err == nil && iface != "" {
		err = Check(program)
	}
	if err != nil {
		return nil, err
	}
	return program, nil
}

// asksKernel tells whether an expression may ask for what is not in a frame as the
// kernel shows it to programs. One with such a word in the name of a host is compiled in
// vain for a live capture, and right.
func asksKernel(expr string) bool {
	for _, word := range []string{"vlan", "inbound", "outbound", "ifindex"} {
		if strings.Contains(expr, word) {
			return true
		}
	}
	return false
}

// liveNames are libpcap's names of what interfaces deliver without a cooked header,
// which has no place for tags, and the direction in it.
var liveNames = map[capture.LinkType]string{
	capture.LinkEthernet:  "EN10MB",
	capture.LinkRaw:       "RAW",
	capture.LinkIEEE80211: "IEEE802_11",
	capture.LinkPrism:     "PRISM_HEADER",
	capture.LinkRadiotap:  "IEEE802_11_RADIO",
}

// fileHeader makes an empty pcap file. libpcap compiles for it as for any file of its
// link type, without a device to open or names of link types to know.
func fileHeader(link capture.LinkType, snaplen int) []byte {
	header := make([]byte, 24)
	for at, v := range map[int]uint32{0: 0xA1B2C3D4, 4: 4<<16 | 2, 16: uint32(snaplen), 20: uint32(link)} {
		binary.LittleEndian.PutUint32(header[at:], v)
	}
	return header
}

// wrongExpression gives the compiler's words to the error.
func wrongExpression(compiler, text string) error {
	return fmt.Errorf("%w: %s: %s", ErrExpression, compiler, text)
}
