// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"encoding/binary"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/capture/afpacket"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
	"github.com/flowdedup/flowdedup/engine/hubclient"
)

// advice is all that messages recommend: a flag, a value, a name or a command of the system. The command
// line without causes the message, and with, which follows the advice, does not. If without is "", with
// names the test that follows the advice, or says why no test does.
var advice = []struct{ words, without, with string }{
	{"name more, or leave it out", "dedup --within input IN", "dedup --within input IN SNAP"},
	{"name a file in .gz, .zst or .lz4", "dedup IN -w TMP/a.pcap.xz", "dedup IN -w TMP/a.pcap.gz"},
	{"name another file, or give --in-place", "dedup COPY -w COPY", "dedup COPY -w COPY --in-place"},
	{"choose other names", "dedup IN -w TMP/o-%H.pcap --duplicates TMP/o-%M.pcap --rotate-every 1h", "dedup IN -w TMP/o-%H.pcap --duplicates TMP/d-%H.pcap --rotate-every 1h"},
	{"choose a new or empty folder", "dedup IN -w TMP/fo/ ; dedup IN -w TMP/fo/", "dedup IN -w TMP/fp/"},
	{"choose another name or folder", "dedup COPY -w TMP/copy%Y.pcapng --rotate-every 1h --rotate-keep 1", "dedup COPY -w TMP/other%Y.pcapng --rotate-every 1h --rotate-keep 1"},
	{"name a capture, or - for standard input", "dedup", "dedup IN"},
	{"another: use --filter", "live -i left -i tunnel --bpf-file BPF D", "live -i left -i tunnel --filter ip D"},
	{"name one, for one file a window", "live -i left --of src --save COPY KEY D", "live -i left --of src --save TMP KEY D"},
	{"for tcp:// and tcp-listen:// use --merge-wait", "dedup --sort 1s tcp://127.0.0.1:1", "dedup --sort 1s IN"},
	{"use a larger --memory or a shorter --window", "inspect --memory 1MiB --window 1h MANY", "inspect --memory 256MiB --window 1h MANY"},
	{"use a larger --memory or a shorter --window", "compare --memory 1MiB --window 1h MANY LATE", "compare --memory 64MiB --window 1h MANY LATE"},
	{"give a --window of so many more packets", "verify --window n:5 --tolerance 1us IN IN", "verify --window n:6 IN IN"},
	{"use --method timed for a landmark window", "dedup --method timers --window landmark:1h IN", "dedup --method timed --window landmark:1h IN"},
	{"use --keep flow or --strip vlan", "dedup --for suricata --keep first --strip tunnel IN -w TMP/k.pcapng", "dedup --for suricata --keep flow --strip tunnel IN -w TMP/k.pcapng"},
	{"use a window of time", "dedup --for suricata --window none IN -w TMP/l.pcapng", "dedup --for suricata --window 1s IN -w TMP/l.pcapng"},
	{"name the file .pcapng instead of", "dedup --mark IN -w TMP/m.pcap", "dedup --mark IN -w TMP/m.pcapng"},
	{"leave out the other --prefer", "dedup --prefer first --prefer ip IN -w TMP/n.pcapng", "dedup --prefer first IN -w TMP/n.pcapng"},
	{"use --method timed", "dedup --method timers --window 100ms LATE", "dedup --method timed --window 100ms LATE"},
	{"use --memory ", "dedup --memory 64KiB --window 1h MANY", "dedup --memory 16MiB --window 1h MANY"},
	{"or more", "dedup --sort 1us LATE -w TMP/p.pcapng", "dedup --sort 1s LATE -w TMP/p.pcapng"},
	{"capture more of each packet, or use --across", "dedup SHORT", "dedup IN"},
	{"capture more of each packet, or use --across", "dedup SHORT", "dedup --across SHORT"},
	{"use --identity-bytes if inspect recommends it", "dedup UNEVEN", "dedup --identity-bytes 40 UNEVEN"},
	{"for copies inside of tunnels try --identity inner", "dedup VXLAN", "dedup --identity inner VXLAN"},
	{"capture at least 64 bytes", "distinct --of flow SHORT", "distinct --of flow SNAP"},
	{"unchecked for want of --memory", "flows --memory 64KiB FLOWS", "flows --memory 64MiB FLOWS"},
	{"unchecked for want of --memory", "flows --policy record --memory 1MiB FLOWS", "flows --policy record --memory 64MiB FLOWS"},
	{"name an input, - for standard input", "flows", "flows FLOWS"},
	{"a FILE of its own before it", "distinct --csv IN", "distinct --csv TMP/own.csv IN"},
	{"name a file for counts with --reports", "flows -w - --of src FLOWS", "flows -w TMP/w.ndjson --of src --reports TMP/r.ndjson FLOWS"},
	{"give --distinct as a share", "plan --window none --distinct 100 --memory 1MiB", "plan --window none --distinct 60% --memory 1MiB"},
	{"give --rate, --link, --elements or --from FILE", "plan --window 1s", "plan --window 1s --rate 1000"},
	{"use a larger --memory", "verify --memory 64KiB --window 1h TWICE ONCE", "verify --memory 64MiB --window 1h TWICE ONCE"},
	{"use a larger --sort-memory", "dedup --sort 1h --sort-memory 1MiB BACKWARD -w TMP/s.pcapng", "dedup --sort 1h --sort-memory 64MiB BACKWARD -w TMP/s.pcapng"},
	{"capture more of each", "inspect SHORT", "inspect IN"},
	{"is no regular file and", "dedup IN -w /dev/null --rotate-every 1h", "dedup IN -w TMP/q.pcap --rotate-every 1h"},
	{"give --state-mismatch begin", "flows --state TMP/st FLOWS ; flows --flow-key biflow --state TMP/st FLOWS", "flows --flow-key biflow --state TMP/st --state-mismatch begin FLOWS"},
	{"remove the state to change it", "rm TMP/st ; flows --policy record --memory 16MiB --state TMP/st FLOWS ; flows --policy record --memory 32MiB --state TMP/st FLOWS", "rm TMP/st ; flows --policy record --memory 32MiB --state TMP/st FLOWS"},
	{"or use a program that tcpdump -ddd printed", "PATH= dedup --filter ip IN", "PATH= dedup --bpf-file BPF IN"},
	{"interface NAME and input NAME do without it", "PATH= dedup --only ip IN", "PATH= dedup --only interface~eth0 IN"},
	{"give --folder", "PATH= extcap install", "PATH= extcap install --folder TMP/extcap"},
	{"name an interface, tcp://HOST:PORT", "live -i foo:// D", "live -i left D"},
	{"name an interface with -i", "live D", "live -i left D"},
	{"ip link set ", "live -i lo D", "live -i left D"},
	{"use --capture afpacket", "live -i lo --capture xdp D", "live -i left --capture afpacket D"},
	{"use --within interface", "live --within input -i left D", "live --within interface -i left D"},
	{"use interface NAME", "live --prefer input~left -i left -w TMP/t.pcapng D", "live --prefer interface~left -i left -w TMP/t.pcapng D"},
	{"name a file for counts with --reports", "live -i left -w - --of src D", "live -i left -w TMP/u.pcapng --of src --reports TMP/u.ndjson D"},
	{"leave --user out", "live -i idle --wait --user nobody D", "live -i idle --wait D"},
	{"give the same key", "live -i left --of src KEY --state TMP/lk D ; live -i left --of src --state TMP/lk D", "live -i left --of src KEY --state TMP/lk D"},
	{"give --state-mismatch begin", "live -i left --window 1ms --state TMP/lm D ; live -i left --window 2ms --state TMP/lm D", "live -i left --window 2ms --state TMP/lm --state-mismatch begin D"},
	{"remove the state to change it", "live -i left --memory 1MiB --state TMP/ln D ; live -i left --memory 8MiB --state TMP/ln D", "rm TMP/ln ; live -i left --memory 8MiB --state TMP/ln D"},
	{afpacket.NotMerging, "", "TestLiveAdviceMerged"},
	{"use --ignore l4-checksum where copies come from elsewhere", "", "TestLiveAdviceMerged"},
	{"keeps beside frames: use --capture afpacket", "", "TestLiveAdviceTags"},
	{"use a larger --ring-size", "", "TestLiveAdviceRing"},
	{"use a larger --snaplen, or --across", "", "TestLiveAdviceSnaplen"},
	{"gro off lro off, if the host merges packets, else a larger MTU", "", "TestLiveXDPFollow"},
	{"or setcap cap_net_raw", "", "TestLiveAdviceRights"},
	{"raise ulimit -n", "", "TestAdviceFiles"},
	{"choose another one", "", "TestLiveAdviceRights"},
	{"choose a port above 1023", "", "TestLiveAdviceRights"},
	{"name each interface", "", "TestLiveXDPUsage"},
	{"use --boundary FILE", "", "TestFlowsSamples"},
	{"use --flow-key biflow", "", "../flows/testdata/script/inspect.txtar"},
	{"use a larger --merge-wait", "", "TestMergeWaitPipe"},
	{"leave out --keep flow and --prefer", "dedup --hub TOKEN --prefer ip IN -w TMP/h.pcapng", "dedup --hub TOKEN IN -w TMP/h.pcapng"},
	{"leave --keep flow at its default", "inspect VLAN", "dedup VLAN -w TMP/v.pcapng ; inspect TMP/v.pcapng"},
	{"give --prefer for one side", "", "TestInspectTranslation"},
	{", try --memory ", "", "a cell with the size that the warning of dedup recommends"},
	{"name a file, or pipe into a program", "", "tests have no terminal"},
	{"sysctl -w net.core.rmem_max", "", "the setting is of the host, not of a namespace"},
	{"rxvlan off", "", "needs a card that takes tags off, and whose driver does not say which"},
	{"(ip link show %s)", "", "it only shows who has the interface"},
	{"choose a smaller ring", "", "a test does not fill the memory of its machine"},
}

// advises finds advice in the texts of messages.
var advises = regexp.MustCompile(`\b(use|try|give|leave) (out |interface|a |the |--)|capture (at least|more)|ethtool|sysctl|setcap|ulimit|ip link |remove (it|the state)|` +
	`\bname (a|an|it|another|each|more|one|interface|the file)\b|choose `)

// TestAdviceIsListed finds the advice in the sources: all is in the table, and all of the table is there.
func TestAdviceIsListed(t *testing.T) {
	root, found := filepath.Join("..", "..", "..", ".."), make([]bool, len(advice))
	check := func(at, text string) {
		listed := false
		for i, a := range advice {
			if strings.Contains(text, a.words) {
				found[i], listed = true, true
			}
		}
		if !listed && advises.MatchString(text) {
			t.Errorf("%s: %q is not in the table", at, text)
		}
	}
	for _, dir := range []string{"capture", "cmd/flowdedup/internal", "cmd/flowdedup/web", "engine/hubclient"} {
		if err := filepath.WalkDir(filepath.Join(root, dir), func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") || strings.HasSuffix(name, "habits.go") || strings.Contains(name, "clitest") {
				return err
			}
			files := token.NewFileSet()
			file, err := parser.ParseFile(files, name, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.KeyValueExpr: // help is no message
					key, is := n.Key.(*ast.Ident)
					return !is || !slices.Contains([]string{"Help", "Example", "Long", "Short", "Needs", "Not"}, key.Name)
				case *ast.BasicLit:
					if text, err := strconv.Unquote(n.Value); err == nil && strings.Contains(text, " ") {
						check(files.Position(n.Pos()).String(), text)
					}
				}
				return true
			})
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	for i, is := range found {
		if !is {
			t.Errorf("no message says %q", advice[i].words)
		}
	}
}

// TestAdviceHasTests finds the tests that the table names.
func TestAdviceHasTests(t *testing.T) {
	tests, err := exec.Command("grep", "-rhoE", "^func Test[A-Za-z]+", "--include=*_test.go", "..", "../../../../capture").Output()
	if err != nil {
		t.Skip(err)
	}
	for _, a := range advice {
		if strings.HasPrefix(a.with, "Test") && !strings.Contains(string(tests), "func "+a.with+"\n") {
			t.Errorf("%s: there is no %s", a.words, a.with)
		}
		if strings.HasSuffix(a.with, ".txtar") && !strings.Contains(string(clitest.ReadFile(t, a.with)), a.words) {
			t.Errorf("%s does not have %q", a.with, a.words)
		}
	}
}

// TestAdvice follows all advice that needs no network.
func TestAdvice(t *testing.T) {
	follow(t, false, func(t *testing.T, args []string) (string, int) {
		out, errs, code := clitest.Run(args...)
		return out + errs, code
	})
}

// follow runs the command lines of the table, of live or of all other commands.
func follow(t *testing.T, live bool, run func(t *testing.T, args []string) (text string, code int)) {
	names, path := adviceInputs(t), os.Getenv("PATH")
	each := func(t *testing.T, lines string) (text string, code int) {
		for line := range strings.SplitSeq(lines, " ; ") {
			line, bare := strings.CutPrefix(names.Replace(line), "PATH= ")
			if t.Setenv("PATH", path); bare {
				t.Setenv("PATH", "")
			}
			args := strings.Fields(line)
			for i := range args {
				args[i] = strings.ReplaceAll(args[i], "~", " ")
			}
			if args[0] != "rm" {
				text, code = run(t, args)
			} else if err := os.Remove(args[1]); err != nil {
				t.Fatal(err)
			}
		}
		return text, code
	}
	for _, a := range advice {
		if a.without == "" || live != strings.Contains(a.without, "live ") {
			continue
		}
		if text, _ := each(t, a.without); !strings.Contains(text, a.words) {
			t.Errorf("%s: no %q: %s", a.without, a.words, text)
		}
		if text, code := each(t, a.with); code != cli.ExitDone || strings.Contains(text, a.words) {
			t.Errorf("%s: exit code %d: %s", a.with, code, text)
		}
	}
}

// adviceInputs makes the captures and records that the command lines name.
func adviceInputs(t *testing.T) *strings.Replacer {
	t.Helper()
	dir := t.TempDir()
	file := func(name, content string) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	in := clitest.Bundled("router-plain.pcapng")
	const packets, records = 70_000, 40_000
	var many, late []clitest.Seen
	at := time.Date(2026, 3, 28, 21, 0, 0, 0, time.UTC).UnixNano()
	frame := clitest.UDPFrame(1, 1)
	frame[24], frame[25] = 0, 0 // the checksum of IPv4 is left to the card
	for i := range packets {
		binary.BigEndian.PutUint32(frame[26:], uint32(i+1)*2654435761)
		p := clitest.Seen{Record: clitest.Record{Time: at + int64(i)*1e6, Wire: uint32(len(frame)), Data: string(frame)}}
		many = append(many, p)
		if p.Time -= int64(i%2) * 5e7; i < 2000 {
			late = append(late, p)
		}
	}
	backward := slices.Clone(many)
	slices.Reverse(backward)
	once, twice := many[:20_000], slices.Clone(many[:20_000])
	for _, p := range once {
		p.Time += 6e10
		twice = append(twice, p)
	}
	var short, uneven []clitest.Seen
	for i, p := range clitest.ReadStream(t, in) {
		p.Data = p.Data[:min(len(p.Data), 60+10*(i%2))]
		uneven = append(uneven, p)
		p.Data = p.Data[:min(len(p.Data), 36)]
		short = append(short, p)
	}
	var flows strings.Builder
	for i := range records {
		fmt.Fprintf(&flows, `{"type":"NETFLOW_V9","sampler_address":"10.0.0.%d","time_flow_start_ns":%d,"time_flow_end_ns":%d,"bytes":100,"packets":1,"src_addr":"10.1.%d.%d","dst_addr":"10.200.0.1","proto":"TCP","src_port":1000,"dst_port":80}`+"\n",
			1+i%2, at+int64(i)*1e3, at+int64(i)*1e3+1e6, i/512, i/2%256)
	}
	return strings.NewReplacer("TWICE", clitest.WriteStream(t, twice, 1), "ONCE", clitest.WriteStream(t, once, 1), "BACKWARD", clitest.WriteStream(t, backward, 1),
		"MANY", clitest.WriteStream(t, many, 1), "LATE", clitest.WriteStream(t, late, 1), "SHORT", clitest.WriteStream(t, short, 4),
		"UNEVEN", clitest.WriteStream(t, uneven, 4), "COPY", file("copy2026.pcapng", string(clitest.ReadFile(t, in))), "FLOWS", file("flows.json", flows.String()),
		"BPF", file("all.bpf", "1\n6 0 0 65535\n"), "TMP", dir, "KEY", "--key "+strings.Repeat("0123456789abcdef", 4),
		"TOKEN", (&hubclient.Token{URL: "nats://127.0.0.1:1", Namespace: "main", Filter: "packets", Site: "paris", Epoch: 1, Slices: 4, Key: make([]byte, 32), WindowUS: 1000}).Encode(),
		"VLAN", clitest.Bundled("router-vlan.pcapng"), "SNAP", clitest.Bundled("router-snap96.pcapng"), "RAW", clitest.Bundled("tunnel-raw.pcap"), "VXLAN", clitest.Bundled("mirror-vxlan.pcap"), " D", " --duration 1ms", "IN", in)
}
