// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/once"
)

// habit is what users of other programs type, and its equivalent here.
type habit struct {
	typed    string // flags or arguments, separated by spaces
	commands string // that the answer is for, separated by spaces: names, or a flag that they have; "" for all
	answer   string
}

// Arguments that are no flags.
const (
	habitFile   = "FILE"      // no command
	habitOutput = "FILE+FILE" // the output as the last argument
	habitNumber = "-w+NUMBER" // a window of editcap
)

const (
	noCommand = "flowdedup"
	splits    = "--rotate-size 100MB and --rotate-every 1h write several files"
	prints    = "no packets are printed: use -w - and pipe them into tcpdump -r - or tshark -r -"
	reads     = "no packets are printed: tcpdump -r FILE prints them"
	parts     = "dedup distinct inspect compare verify" // the commands that take a part of captures
	span      = "for a span of time, editcap -A START -B STOP FILE - and read -"
)

// habits has the first answer that fits a command before others. Flags in an answer are flags
// of the command, unless the name of a different program or command stands before them.
var habits = []habit{
	{habitFile, noCommand, "write flowdedup inspect FILE to look at it, or flowdedup dedup FILE -w OUT to remove copies"},
	{habitOutput, "", "to write it, use -w"},
	{habitNumber, "", "names a file; the window that editcap calls -w is --window 1ms"},
	{"top talkers", noCommand, "write flowdedup distinct --top 10 FILE"},
	{"count stats statistics hosts conversations", noCommand, "write flowdedup distinct --of src,dst,flow FILE"},
	{"clean remove unique uniq deduplicate duplicates", noCommand, "write flowdedup dedup FILE -w OUT"},
	{"merge join", noCommand, "write flowdedup dedup FILE FILE -w OUT for each packet once; mergecap leaves copies"},
	{"diff loss latency match", noCommand, "write flowdedup compare FILE FILE"},
	{"check validate test", noCommand, "write flowdedup verify FILE OUT"},
	{"info analyze analyse report detect read", noCommand, "write flowdedup inspect FILE"},
	{"capture sniff monitor run listen", noCommand, "write flowdedup live -i IFACE -w OUT"},
	{"netflow ipfix sflow collect collector", noCommand, "write flowdedup flows --listen 2055 -w OUT"},
	{"memory size estimate", noCommand, "write flowdedup plan --link 10Gb/s --window 10ms"},
	{"hub server serve join-token", noCommand, "the hub is a program of its own, flowdedup-hub"},
	{"-r", noCommand, "the command comes first: flowdedup dedup -r FILE -w OUT"},
	{"-w", noCommand, "the command comes first: flowdedup dedup FILE -w OUT"},
	{"-i", noCommand, "the command comes first: flowdedup live -i IFACE -w OUT"},
	{"-D --list-interfaces --interfaces", noCommand + " live inspect", "flowdedup live without -i lists interfaces"},
	{"-r", "live", "flowdedup dedup reads files"},
	{"-i --interface", "", "flowdedup live captures from an interface, flowdedup inspect -i looks at one; a file needs no flag"},
	{"--input --in --file --infile --pcap", "--read", "write names of captures without a flag, or -r FILE"},
	{"--version", "", "flowdedup version prints it"},
	{"-n", "distinct", "use --top N for the N with the most packets; names are never looked up"},
	{"-s", "distinct", "use --of src --top 10 --top-by bytes for the ten with the most bytes; flowdedup dedup --slice N cuts written packets"},
	{"-A", "distinct", "use --of src,flow to choose what is counted; for a span of time, --from START --to STOP"},
	{"-l -p --port --collect", "flows", "use --listen 2055 to take messages from exporters"},
	{"-m --size --mem", "--memory", "use --memory 8MiB"},
	{"-n", "", "names are never looked up: leave it out"},
	{"-c", "", "for the first N packets of a file, tcpdump -r FILE -c N -w - and read -"},
	{"-s", "", "flowdedup dedup --slice N cuts written packets, flowdedup live -s captured ones"},
	{"-C", "--in-place", splits + "; to chop bytes off packets, use --slice N or --strip vlan,tunnel"},
	{"-C", "", "flowdedup dedup --slice N or --strip vlan,tunnel chops bytes off packets"},
	{"-G", "--rotate-every", "use --rotate-every 1h"},
	{"-W", "--rotate-keep", "use --rotate-keep N"},
	{"-b", "--rotate-keep", splits + ", and --rotate-keep N keeps the newest"},
	{"-G -W -b", "", "flowdedup dedup -w OUT --rotate-every 1h --rotate-keep N writes several files"},
	{"-d", "live", "tcpdump -ddd prints the program of an expression, and --bpf-file takes it"},
	{"-d", "", "flowdedup dedup removes copies within 1 ms without a flag; as editcap -d does: flowdedup dedup --identity frame --window n:5"},
	{"-D", "", "as editcap -D N does: flowdedup dedup --identity frame --window n:N"},
	{"-I", "live", "iw dev IFACE set type monitor does that first"},
	{"-I", "", "flowdedup dedup ignores link headers, TTL and the like anyway; flowdedup dedup --ignore FIELD leaves out more; flowdedup dedup --identity-bytes N compares the first N bytes"},
	{"-o --out --output", "--write", "use -w FILE for what is kept; --json prints the summary as JSON"},
	{"-o --out --output", "--csv", "the ending says which: --csv FILE.csv or --html FILE.html; --json prints NDJSON"},
	{"-o --out --output", "--html", "use --html FILE.html; --json prints JSON"},
	{"--format", "--csv", "--csv FILE writes CSV, --html FILE a page; --json prints NDJSON"},
	{"--format=csv --format=json", "flows", "it is the format of inputs; --csv FILE writes CSV, -w FILE the records"},
	{"-F", "live", "use --filter \"$(cat FILE)\""},
	{"-F --format", "--write", "the ending of the name chooses the format: -w OUT.pcap or OUT.pcapng; --json prints the summary as JSON"},
	{"-F", "", "flowdedup dedup -w OUT.pcap or OUT.pcapng: the ending of the name chooses the format"},
	{"--format", "--json", "--json prints JSON"},
	{"--timezone --time-zone", "--tz", "use --tz Europe/Berlin"},
	{"-f -Y -R", "--filter", "write --filter 'tcp port 443', in the language of tcpdump; for a display filter, tshark -Y FILTER -w - and read -"},
	{"-f -Y -R", "", "flowdedup dedup --filter 'tcp port 443' chooses packets"},
	{"-a", "live", "--duration 1h and --count N end a capture"},
	{"-a", "--no-merge", "use --no-merge to read inputs one after another"},
	{"-A", parts, "for a span of time, --from START --to STOP; " + reads},
	{"-B", parts, "for a span of time, --from START --to STOP"},
	{"-A", "--write", span + "; " + prints},
	{"-A", "", span + "; " + reads},
	{"-B", "", span},
	{"-S", "", "flowdedup dedup --sort 1s puts packets in the order of their times"},
	{"-t", "", "times stay as they are; editcap -t SECONDS shifts them"},
	{"-T", "", "the link type stays as it is; editcap -T changes it"},
	{"-U -l", "", "a pipe gets packets as they come: leave it out"},
	{"-e -v -X", "--write", prints},
	{"-e -v -X", "", reads},
	{"--filter", "", "join expressions with and, or with or"},
	{"--listen", "live", "the page is at --http 9469"},
	{"--serve", "flows", "the page is at --http 9469"},
	{"--key=src --key=dst --key=ip --key=pair --key=flow --key=biflow --key=mac", "--of", "it is a secret; --of says what is counted"},
	{"--key", "flows", "--flow-key says what makes a flow"},
	{"--window", "distinct", "use --every 1h"},
	{"--decap", "--strip", "use --strip tunnel"},
	{"--edge", "verify", "use --tolerance"},
}

// habitOf returns the answer for an argument of a command, "" for none.
func habitOf(cmd *cobra.Command, typed string) string {
	for _, h := range habits {
		if slices.Contains(strings.Fields(h.typed), typed) && (h.commands == "" || slices.ContainsFunc(strings.Fields(h.commands), func(of string) bool {
			flag, isFlag := strings.CutPrefix(of, "--")
			return of == cmd.Name() || isFlag && cmd.Flags().Lookup(flag) != nil
		})) {
			return h.answer
		}
	}
	return ""
}

// hintValue returns the error to print for an error of parsing flags. A flag given twice, or a
// value as a different program takes it, may have a hint.
func hintValue(cmd *cobra.Command, err error) error {
	cause := once.Error(err)
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return cause
	}
	typed := "--" + invalid.GetFlag().Name
	if !errors.Is(err, once.ErrTwice) {
		typed += "=" + invalid.GetValue()
	}
	if hint := cmp.Or(habitOf(cmd, typed), withoutUnit(invalid.GetFlag(), invalid.GetValue())); hint != "" {
		return fmt.Errorf("%w: %s", cause, hint)
	}
	return cause
}

// withoutUnit returns a hint for a number as a time, as editcap and tcpdump take it; else "".
func withoutUnit(f *pflag.Flag, value string) string {
	if _, err := strconv.ParseFloat(value, 64); err != nil || !slices.Contains([]string{"duration", "window"}, f.Value.Type()) {
		return ""
	}
	return fmt.Sprintf("a number needs a unit: %[1]sms, %[1]ss, %[1]sm", value)
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
	names := ValuesOf(f)
	i := slices.IndexFunc(names, func(name string) bool {
		return name != "" && strings.Trim(name, "0123456789.") == "" && strings.Trim(name, ".") != ""
	})
	if i < 0 {
		return nil
	}
	name := names[i]
	return Usagef("-w %s %s; for a file of that name, -w ./%[1]s", name, habitOf(nil, habitNumber))
}
