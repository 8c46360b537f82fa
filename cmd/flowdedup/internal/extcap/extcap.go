// SPDX-License-Identifier: Apache-2.0

package extcap

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/afpacket"
	"github.com/flowdedup/flowdedup/capture/bpf"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
)

// offer is an interface to offer.
type offer struct {
	name string
	link capture.LinkType
}

// Asked reports whether a command line comes from Wireshark.
func Asked(args []string) bool {
	return slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "--extcap-") })
}

// errUsage is wrapped by errors about a wrong command line.
var errUsage = errors.New("wrong extcap arguments")

// prefix begins the names of interfaces in Wireshark.
const prefix = "flowdedup-"

// question is a question of Wireshark's.
type question struct {
	interfaces, dlts, config, capture bool
	version, name, filter, fifo       string
	settings                          []string // values, in the order of the package's settings
}

// reply answers Wireshark on out. To capture, it returns the arguments of "flowdedup live"
// that do, and nil otherwise. check tests a filter expression for an interface; its error
// is an answer.
func reply(args []string, offered []offer, out io.Writer, check func(in offer, expression string) error) (live []string, err error) {
	q, err := parse(args)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", errUsage, err)
	case q.interfaces:
		return nil, list(out, offered)
	}
	at := slices.IndexFunc(offered, func(i offer) bool { return prefix+i.name == q.name })
	if at < 0 {
		return nil, fmt.Errorf("%w: no interface %q", errUsage, q.name)
	}
	switch {
	case q.dlts:
		return nil, links(out, offered[at].link)
	case q.config:
		return nil, dialog(out)
	case q.capture && q.fifo == "":
		return nil, fmt.Errorf("%w: --capture needs --fifo", errUsage)
	case q.capture:
		return q.live(offered[at].name), nil
	case q.filter != "":
		if wrong := check(offered[at], q.filter); wrong != nil {
			_, err = fmt.Fprintln(out, wrong)
		}
	}
	return nil, err
}

func parse(args []string) (*question, error) {
	q := &question{settings: make([]string, len(settings))}
	fs := pflag.NewFlagSet("extcap", pflag.ContinueOnError)
	fs.Usage = func() {}
	fs.BoolVar(&q.interfaces, "extcap-interfaces", false, "")
	fs.StringVar(&q.version, "extcap-version", "", "")
	fs.StringVar(&q.name, "extcap-interface", "", "")
	fs.BoolVar(&q.dlts, "extcap-dlts", false, "")
	fs.BoolVar(&q.config, "extcap-config", false, "")
	fs.StringVar(&q.filter, "extcap-capture-filter", "", "")
	fs.BoolVar(&q.capture, "capture", false, "")
	fs.StringVar(&q.fifo, "fifo", "", "")
	for i, s := range settings {
		fs.StringVar(&q.settings[i], s.flag, "", "")
	}
	if len(args) > 0 && args[0] == "extcap" {
		args = args[1:] // who tries it by hand names the command
	}
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	if fs.NArg() > 0 {
		return nil, fmt.Errorf("%q is no flag", fs.Arg(0))
	}
	return q, nil
}

// live returns the arguments that capture.
func (q *question) live(name string) []string {
	args := []string{"live", "-i", name, "-w", q.fifo, "--quiet"}
	for i, value := range q.settings {
		if value != "" {
			args = append(args, "--"+settings[i].flag, value)
		}
	}
	if q.filter != "" {
		args = append(args, "--filter", q.filter)
	}
	return args
}

// list answers which interfaces there are.
func list(out io.Writer, offered []offer) error {
	var text strings.Builder
	text.WriteString("extcap {version=1.0}{help=https://github.com/flowdedup/flowdedup}{display=flowdedup}\n")
	for _, i := range offered {
		fmt.Fprintf(&text, "interface {value=%s%s}{display=%[2]s without duplicates}\n", prefix, i.name)
	}
	_, err := io.WriteString(out, text.String())
	return err
}

// linkNames are the link types that raw sockets have.
var linkNames = map[capture.LinkType][2]string{
	capture.LinkEthernet:  {"EN10MB", "Ethernet"},
	capture.LinkRaw:       {"RAW", "Raw IP"},
	capture.LinkLinuxSLL:  {"LINUX_SLL", "Linux cooked"},
	capture.LinkLinuxSLL2: {"LINUX_SLL2", "Linux cooked, version 2"},
}

// links answers which link type an interface has.
func links(out io.Writer, link capture.LinkType) error {
	names, known := linkNames[link]
	if !known {
		names = [2]string{fmt.Sprintf("LINKTYPE_%d", link), fmt.Sprintf("link type %d", link)}
	}
	_, err := fmt.Fprintf(out, "dlt {number=%d}{name=%s}{display=%s}\n", link, names[0], names[1])
	return err
}

// setting is a field of the dialog, and the flag of "flowdedup live" that it sets.
type setting struct {
	flag, display, usual, tip string
	choices                   []choice // none: any text
}

type choice struct{ value, display string }

var settings = []setting{
	{flag: "window", display: "Window", usual: "10ms", tip: "Copies lie within this time of the packet that they copy: 1ms, 10ms, 1s"},
	{flag: "identity", display: "Identity", usual: "l3", tip: "What two packets must have in common to be the same packet", choices: []choice{
		{"l3", "IP datagram (finds copies on other VLANs and behind routers)"},
		{"frame", "whole frame"},
		{"inner", "innermost datagram of tunnels"},
	}},
	{flag: "keep", display: "Keep", usual: "flow", tip: "Which of equal packets is shown", choices: []choice{
		{"flow", "all of a conversation from one VLAN or interface"},
		{"first", "the first"},
	}},
	{flag: "ignore", display: "Ignore", tip: "More fields that copies may differ in: mac, vlan, ip-id, l4-checksum, mss, tcp-seq, nat"},
}

// dialog answers which settings there are.
func dialog(out io.Writer) error {
	var text strings.Builder
	for i, s := range settings {
		kind := "string"
		if len(s.choices) > 0 {
			kind = "selector"
		}
		fmt.Fprintf(&text, "arg {number=%d}{call=--%s}{display=%s}{type=%s}{tooltip=%s}", i, s.flag, s.display, kind, s.tip)
		if s.usual != "" {
			fmt.Fprintf(&text, "{default=%s}", s.usual)
		}
		text.WriteByte('\n')
		for _, c := range s.choices {
			fmt.Fprintf(&text, "value {arg=%d}{value=%s}{display=%s}{default=%t}\n", i, c.value, c.display, c.value == s.usual)
		}
	}
	_, err := io.WriteString(out, text.String())
	return err
}

// Translate answers Wireshark's questions to a program of its folder extcap. For a capture it
// returns the command line that captures, else nil.
func Translate(ctx context.Context, e *cli.Env, args []string) ([]string, error) {
	check := func(in offer, expression string) error {
		filter := bpf.Filter{Expr: expression}
		_, err := filter.For(ctx, in.link, afpacket.MaxSnapLen, in.name)
		return err
	}
	live, err := reply(args, capturable(), e.Stdout, check)
	if errors.Is(err, errUsage) {
		err = cli.Usage(err)
	}
	return live, err
}

// capturable returns the interfaces that live can capture from: none where the system is
// not Linux.
func capturable() (all []offer) {
	names := []string{afpacket.Any}
	interfaces, err := net.Interfaces()
	if err != nil {
		interfaces = nil // any remains
	}
	for _, i := range interfaces {
		names = append(names, i.Name)
	}
	for _, name := range names {
		link, err := afpacket.LinkTypeOf(name, false)
		if name == afpacket.Any {
			link = capture.LinkLinuxSLL2
		}
		if err == nil {
			all = append(all, offer{name: name, link: link})
		}
	}
	return all
}
