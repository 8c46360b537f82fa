// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// TestCheck has --check say ok where a run begins, and name all that is missing, in lines of their own,
// where none does. It leaves no file, and does not disturb a run.
func TestCheck(t *testing.T) {
	t.Parallel()
	clitest.Lab(t, "left right")
	clitest.IP(t, "link set lo up")
	clitest.IP(t, "addr add 192.0.2.1/24 dev left")
	clitest.IP(t, "link set right down")
	full := clitest.SmallDisk(t)
	clitest.Fill(t, full)
	dir := clitest.CopyProgram(t)
	for _, c := range []struct {
		as   uint32
		line string
		want string // lines in their order, "ok" for none
	}{
		{0, "-i left", "ok"},
		{0, "-i any", "ok"},
		{0, "-i right --wait", "ok"},
		{0, "-i nope --wait -w FOLDER/out.pcapng --of src --reports FOLDER/counts.jsonl --state FOLDER/state --save FOLDER/saved --key " + strings.Repeat("5a", 32), "ok"},
		{0, "-i vxlan://:4789 -w tcp-listen://:4790 --http 9469 --user nobody", "ok"},
		{0, "-i left --only 'host 192.0.2.1'", "ok"},
		{0, "-i right -i nope --forward none", "right: the interface is down|nope: no such interface|none: no such interface"},
		{0, "-i left -w /nope/x.pcapng --duplicates FULL/x.pcapng --http nonsense", "write in /nope: no such file|write in FULL: no space left|--http \"nonsense\""},
		{0, "-i left --tls-cert /nope --tls-key /nope -w tcp://192.0.2.1:9", "/nope: no such file"},
		{0, "-i left --http 9469 --http-token /nope", "--http-token open /nope"},
		{0, "-i left --state PROGRAM", "not a state file"},
		{0, "-i left --capture xdp", "it has address 192.0.2.1"},
		{0, "-i left --capture xdp --take-interface", "ok"},
		{0, "-i lo --capture xdp", "it is a loopback interface"},
		{0, "-i left --http 192.0.2.9:9469", "this host has no such address"},
		{65534, "-i erspan:// --http 80", "GRE needs CAP_NET_RAW|--http 127.0.0.1:80: bind: permission denied"},
		{65534, "-i left -w /x.pcapng", "left: not permitted: needs CAP_NET_RAW|write in /: permission denied"},
		{65534, "-i nope --wait --user nobody --capture xdp", "--user nobody: not permitted|AF_XDP needs CAP_NET_RAW|nope: not permitted"},
	} {
		folder := t.TempDir()
		line := strings.NewReplacer("FOLDER", folder, "FULL", full, "PROGRAM", dir).Replace(c.line)
		want := strings.Split(strings.ReplaceAll(c.want, "FULL", full), "|")
		args := []string{"live", "--check"}
		for _, word := range shellWord.FindAllString(line, -1) {
			args = append(args, strings.Trim(word, "'"))
		}
		cmd := clitest.Program(t, args...)
		cmd.Path, cmd.Dir = dir, "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: c.as, Gid: c.as}}
		out, err := cmd.CombinedOutput()
		if c.want == "ok" {
			if string(out) != "ok\n" || err != nil {
				t.Errorf("%s: %v: %s", line, err, out)
			}
		} else if clitest.ExitCode(t, err) == 0 || strings.Count(string(out), "\n") != len(want) {
			t.Errorf("%s: %v, want %d lines: %s", line, err, len(want), out)
		}
		for rest := string(out); len(want) > 0; want = want[1:] {
			_, after, found := strings.Cut(rest, want[0])
			if rest = after; !found {
				t.Errorf("%s: no %q in %s", line, want[0], out)
			}
		}
		if left, err := filepath.Glob(filepath.Join(folder, "*")); err != nil || len(left) > 0 {
			t.Errorf("%s: left %v: %v", line, left, err)
		}
		if _, err := os.Stat(filepath.Join(full, "x.pcapng")); err == nil {
			t.Errorf("%s: made a file", line)
		}
	}
}
