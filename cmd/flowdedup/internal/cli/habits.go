// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/once"
)

// habit is a flag or argument of tcpdump, tshark, editcap or mergecap, and its equivalent
// here.
type habit struct {
	typed    string
	commands string // that the answer is for, separated by spaces; "" for all
	answer   string
}

// Arguments that are no flags.
const (
	habitFile   = "FILE"      // no command
	habitOutput = "FILE FILE" // the output as the last argument
	habitNumber = "-w NUMBER" // a window of editcap
)

const (
	noCommand = "flowdedup"
	splits    = "--rotate-size 100MB and --rotate-every 1h write several files"
	prints    = "no packets are printed: use -w - and pipe them into tcpdump -r - or tshark -r -"
	expresses = "write --filter 'tcp port 443', in the language of tcpdump; for a display filter, tshark -Y FILTER -w - and read -"
)

// habits has the first answer that fits a command before others.
var habits = []habit{
	{habitFile, noCommand, "write flowdedup inspect FILE to look at it, or flowdedup dedup FILE -w OUT to remove copies"},
	{habitOutput, "", "to write it, use -w"},
	{habitNumber, "", "names a file; the window that editcap calls -w is --window 1ms"},
	{"-r", noCommand, "the command comes first: flowdedup dedup -r FILE -w OUT"},
	{"-w", noCommand, "the command comes first: flowdedup dedup FILE -w OUT"},
	{"-i", noCommand, "the command comes first: flowdedup live -i IFACE -w OUT"},
	{"-D", noCommand + " live inspect", "flowdedup live without -i lists interfaces"},
	{"-r", "live", "flowdedup dedup reads files"},
	{"-i", "", "flowdedup live captures from an interface, flowdedup inspect -i looks at one"},
	{"-n", "", "names are never looked up: leave it out"},
	{"-c", "", "for the first N packets of a file, tcpdump -r FILE -c N -w - and read -; flowdedup live -c ends a capture; " + splits},
	{"-s", "", "flowdedup dedup --slice N cuts written packets, flowdedup live -s captured ones"},
	{"-C", "", splits + "; to chop bytes off packets, use --slice N or --strip vlan,tunnel"},
	{"-G", "", "use --rotate-every 1h"},
	{"-W", "", "use --rotate-keep N"},
	{"-b", "", splits + ", and --rotate-keep N keeps the newest"},
	{"-d", "live", "tcpdump -ddd prints the program of an expression, and --bpf-file takes it"},
	{"-d", "", "flowdedup dedup removes copies without a flag, those within --window 1ms; as editcap -d does, with --identity frame --window n:5"},
	{"-D", "", "as editcap -D N does: flowdedup dedup --identity frame --window n:N"},
	{"-I", "live", "iw dev IFACE set type monitor does that first"},
	{"-I", "", "link headers, TTL and the like are ignored anyway, and more fields with --ignore; --identity-bytes N compares the first N bytes"},
	{"-o", "", "use -w FILE"},
	{"-F", "live", "use --filter \"$(cat FILE)\""},
	{"-F", "", "the ending of the name chooses the format: -w OUT.pcap or OUT.pcapng"},
	{"-f", "", expresses},
	{"-Y", "", expresses},
	{"-R", "", expresses},
	{"-a", "live", "--duration 1h and --count N end a capture"},
	{"-a", "", "use --no-merge to read inputs one after another"},
	{"-A", "", "for a span of time, editcap -A START -B STOP FILE - and read -; " + prints},
	{"-B", "", "for a span of time, editcap -A START -B STOP FILE - and read -"},
	{"-S", "", "flowdedup dedup --sort 1s puts packets in the order of their times"},
	{"-t", "", "times stay as they are; editcap -t SECONDS shifts them"},
	{"-T", "", "the link type stays as it is; editcap -T changes it"},
	{"-U", "", "a pipe gets packets as they come: leave it out"},
	{"-l", "", "a pipe gets packets as they come: leave it out"},
	{"-e", "", prints},
	{"-v", "", prints},
	{"--filter", "", "join expressions with and, or with or"},
	{"-X", "", prints},
	{"--listen", "live", "the page is at --http 9469"},
	{"--serve", "flows", "the page is at --http 9469"},
	{"--key", "flows", "--flow-key says what makes a flow"},
	{"--window", "distinct", "use --every 1h"},
	{"--decap", "", "use --strip tunnel"},
	{"--edge", "verify", "use --tolerance"},
}

// habitOf returns the answer for an argument of a command, "" for none.
func habitOf(cmd *cobra.Command, typed string) string {
	for _, h := range habits {
		if h.typed == typed && (h.commands == "" || slices.Contains(strings.Fields(h.commands), cmd.Name())) {
			return h.answer
		}
	}
	return ""
}

// hintTwice returns the error to print for an error of parsing flags. If one is given twice,
// it may have a hint.
func hintTwice(cmd *cobra.Command, err error) error {
	cause := once.Error(err)
	var invalid *pflag.InvalidValueError
	if !errors.Is(err, once.ErrTwice) || !errors.As(err, &invalid) {
		return cause
	}
	if hint := habitOf(cmd, "--"+invalid.GetFlag().Name); hint != "" {
		return fmt.Errorf("%w: %s", cause, hint)
	}
	return cause
}

// HintOutput adds a hint to the error if the last input does not exist and the command has no
// output: editcap and mergecap name the output last.
func HintOutput(err error, inputs []string, output string) error {
	var path *fs.PathError
	last := inputs[len(inputs)-1]
	if output != "" || len(inputs) < 2 || !errors.As(err, &path) || !errors.Is(err, os.ErrNotExist) || path.Path != last {
		return err
	}
	return fmt.Errorf("%w: %s %s", err, habitOf(nil, habitOutput), last)
}

// checkNumber rejects a number as the name of an output. "." and ".." are folders.
func checkNumber(flags *pflag.FlagSet) error {
	f := flags.Lookup("write")
	if f == nil || !f.Changed {
		return nil
	}
	names := namesOf(f)
	i := slices.IndexFunc(names, func(name string) bool {
		return name != "" && strings.Trim(name, "0123456789.") == "" && strings.Trim(name, ".") != ""
	})
	if i < 0 {
		return nil
	}
	name := names[i]
	return Usagef("-w %s %s; for a file of that name, -w ./%[1]s", name, habitOf(nil, habitNumber))
}
