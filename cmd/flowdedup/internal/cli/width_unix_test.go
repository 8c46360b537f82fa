// SPDX-License-Identifier: Apache-2.0

//go:build unix

package cli_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/creack/pty"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// onTerminal runs a command in a folder with its output on a terminal, and returns what it
// shows. more goes into the environment.
func onTerminal(t *testing.T, columns uint16, dir string, more []string, args ...string) string {
	t.Helper()
	master, tty, err := pty.Open()
	if err != nil {
		t.Skip("no pseudo-terminal: ", err)
	}
	defer master.Close()
	if err := pty.Setsize(tty, &pty.Winsize{Cols: columns, Rows: 50}); err != nil {
		t.Fatal(err)
	}
	cmd := clitest.Program(t, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, tty, tty
	cmd.Env = append(cmd.Env, more...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	tty.Close() // so that reading ends with the program
	shown, err := io.ReadAll(master)
	if err != nil && !errors.Is(err, syscall.EIO) {
		t.Fatal(err)
	}
	switch code := clitest.ExitCode(t, cmd.Wait()); code {
	case cli.ExitDone, cli.ExitDamaged, cli.ExitDifferent:
	default:
		t.Fatalf("%q: exit code %d: %s", args, code, shown)
	}
	return string(shown)
}

// writeFlows writes records of one flow that many exporters with long names have seen.
func writeFlows(t *testing.T, name string) {
	t.Helper()
	var lines strings.Builder
	for i := range 4 {
		fmt.Fprintf(&lines, `{"type":"NETFLOW_V9","time_received_ns":1700000001000000000,"sampler_address":"2001:db8:1:2:3:4:5:%d","time_flow_start_ns":1700000000000000000,`+
			`"time_flow_end_ns":1700000001000000000,"src_addr":"10.0.0.1","dst_addr":"10.0.0.2","src_port":1000,"dst_port":443,"proto":"TCP","bytes":1000,"packets":10,"in_if":%d,"out_if":2}`+"\n", i, i)
	}
	if err := os.WriteFile(name, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

var escapes = regexp.MustCompile(`\x1b\[[0-9;?]*[A-Za-z]`)

// tooWide returns the lines, and drawings of a line, that are wider than the terminal.
func tooWide(shown string, columns int) (wide []string) {
	for line := range strings.SplitSeq(escapes.ReplaceAllString(shown, ""), "\n") {
		for drawn := range strings.SplitSeq(line, "\r") {
			if text.StringWidth(drawn) > columns && !strings.HasPrefix(drawn, "flowdedup: ") { // a message is one line
				wide = append(wide, drawn)
			}
		}
	}
	return wide
}

// TestFitsTerminal runs every command that prints text over all captures, on terminals. No
// line may be wider, but one that is a single word, such as the name of a file.
func TestFitsTerminal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	captures, err := filepath.Glob(clitest.Bundled("router*.pcap*"))
	if err != nil || len(captures) == 0 {
		t.Fatal(captures, err)
	}
	for _, other := range []string{"loopback.pcap", "loopback-twice.pcap", "mirror-vxlan.pcap", "mirror-geneve.pcap", "tunnel-raw.pcap"} {
		captures = append(captures, clitest.Bundled(other))
	}
	for _, path := range captures {
		content := clitest.ReadFile(t, path)
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(path)), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	writeFlows(t, filepath.Join(dir, "records.json"))
	commands := []string{
		"compare router-in.pcap router-out.pcap", "compare router-plain.pcapng router-vlan.pcapng", "plan", "plan --elements 1e6 --memory 10MiB",
		"plan --of flow --from router-plain.pcapng", "flows records.json", "flows --inspect records.json", "version",
		"-h", "help", "help flows", "plan -h", "live --help",
	}
	saved := fmt.Sprintf("distinct --key %064d --sensor ", 7)
	for _, site := range []string{"roof", "a-sensor-with-a-long-name"} {
		commands = append(commands, saved+site+" --save "+site+".counts router-plain.pcapng")
	}
	commands = append(commands, saved+"tunnel --save tunnel.counts tunnel-raw.pcap", "distinct --merge --overlap --total roof.counts a-sensor-with-a-long-name.counts tunnel.counts")
	for _, path := range clitest.Sample(4, captures) {
		name := filepath.Base(path)
		commands = append(commands,
			"inspect "+name, "dedup "+name, "dedup -w kept.pcapng --duplicates copies.pcapng "+name, "verify "+name+" kept.pcapng copies.pcapng", "distinct "+name, "distinct --every none "+name,
			"distinct --of src,dst,ip,pair,flow,biflow,mac --changes --total --every 1s --tz America/Sao_Paulo "+name,
			"distinct --of src,flow --method sketch --slide 1s --every 1m "+name,
		)
	}
	for _, args := range commands {
		for _, columns := range []uint16{80, 60} {
			if args == "version" && columns < 80 {
				continue // a line for reports of errors
			}
			for _, line := range tooWide(onTerminal(t, columns, dir, nil, strings.Fields(args)...), int(columns)) {
				if words := strings.Fields(line); len(words) > 1 && words[0] != "flowdedup" && words[0] != "#" { // no example
					t.Errorf("%s: %d columns of %d: %s", args, text.StringWidth(line), columns, line)
				}
			}
		}
	}
}

// TestTextOfPipes checks that text is the same everywhere but on terminals.
func TestTextOfPipes(t *testing.T) {
	in := clitest.Bundled("router-plain.pcapng")
	want, _, _ := clitest.Run("distinct", in)
	cmd := clitest.Program(t, "distinct", in)
	cmd.Env = append(cmd.Env, "COLUMNS=40")
	if got, err := cmd.Output(); err != nil || string(got) != want {
		t.Errorf("%v\n%s\nwant\n%s", err, got, want)
	}
}

// TestDumbTerminal has no progress line where it cannot be redrawn.
func TestDumbTerminal(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "in.pcapng"), bytes.Repeat(longCapture(t), 8), 0o600); err != nil {
		t.Fatal(err)
	}
	for term, want := range map[string]bool{"xterm": true, "dumb": false} {
		shown := onTerminal(t, 80, dir, []string{"TERM=" + term}, "dedup", "in.pcapng")
		if got := strings.Contains(shown, " of 15 MiB ("); got != want {
			t.Errorf("TERM=%s: progress shown: %t in %q", term, got, shown)
		}
		if wide := tooWide(shown, 80); wide != nil {
			t.Errorf("TERM=%s: too wide: %q", term, wide)
		}
	}
}
