// SPDX-License-Identifier: Apache-2.0

package distinct_test

import (
	"bufio"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/bench/lab/wait"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/version"
)

// TestListCommunityID gives flows, and no addresses, the ID that Zeek and Suricata log. Python's
// hashlib made the one here.
func TestListCommunityID(t *testing.T) {
	out, errs, code := clitest.Run("distinct", "--json", "--list", "--of", "src,flow,biflow", clitest.Bundled("router-ordered.pcapng"))
	if code != cli.ExitDone || errs != "" {
		t.Fatalf("exit code %d, %s", code, errs)
	}
	const udp = `"value":"udp 10.10.0.2:45183`
	ids := 0
	for line := range strings.Lines(out) {
		switch has := strings.Contains(line, `"community_id"`); {
		case strings.Contains(line, udp) && !strings.Contains(line, `"community_id":"1:o+udRL33cES2RPF4afzHRJqHFuc="`):
			t.Error(line)
		case strings.Contains(line, udp):
			ids++
		case strings.Contains(line, `"of":"src"`) && has:
			t.Error(line)
		}
	}
	if ids != 2 {
		t.Errorf("%d lines of the flow in %s", ids, out)
	}
}

// TestListIsAList has nothing but the list on standard output, and the table on standard error.
func TestListIsAList(t *testing.T) {
	in := clitest.Bundled("router-plain.pcapng")
	out, errs, code := clitest.Run("distinct", "--list", "--of", "src,flow", in)
	table, _, _ := clitest.Run("distinct", "--of", "src,flow", in)
	if code != cli.ExitDone || errs != table {
		t.Errorf("exit code %d, standard error is\n%s\nwant\n%s", code, errs, table)
	}
	for line := range strings.Lines(out) {
		if strings.Count(line, "\t") != 2 {
			t.Errorf("the list has %q", line)
		}
	}
}

// TestQuietList prints the list and no table.
func TestQuietList(t *testing.T) {
	out, errs, code := clitest.Run("distinct", "--quiet", "--list", "--of", "src", clitest.Bundled("router-plain.pcapng"))
	if code != cli.ExitDone || errs != "" || strings.Count(out, "\n") != strings.Count(out, "\tsrc\t") || out == "" {
		t.Errorf("exit code %d, stdout %q, stderr %q", code, out, errs)
	}
}

// TestQuietTable checks that --quiet prints the same result, unless a file takes it.
func TestQuietTable(t *testing.T) {
	in := clitest.Bundled("router-plain.pcapng")
	want, _, _ := clitest.Run("distinct", in)
	csv := filepath.Join(t.TempDir(), "counts.csv")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"distinct", "--quiet", in}, want},
		{[]string{"distinct", "--quiet", "--csv", csv, in}, ""},
	} {
		out, errs, code := clitest.Run(c.args...)
		if code != cli.ExitDone || errs != "" || out != c.want || want == "" {
			t.Errorf("%q: exit code %d, stdout %q, stderr %q", c.args, code, out, errs)
		}
	}
}

// TestDistinctStreams reads the output while the input pipe stays open: windows that
// closed to make room, and first sightings.
func TestDistinctStreams(t *testing.T) {
	for _, c := range []struct {
		args string
		want string // begins a line
	}{
		{"", "1970-01-02 00:00 UTC"},
		{"--json", fmt.Sprintf(`{"command":"distinct","version":%q,"schema":1,"kind":"window",`, version.String()) + `"window_start":"1970-01-02T00:00:00Z","window_end":"1970-01-02T01:00:00Z","of":"src","family":"ipv4","distinct":1,`},
		{"--quiet --csv -", "1970-01-02T00:00:00Z,1970-01-02T01:00:00Z,src,ipv4,1,"},
		{"--list --quiet", "1970-01-09T07:00:00Z\tsrc\t10.0.0.199\n"},
		{"--list --json", `{"kind":"sighting","window_start":"1970-01-09T07:00:00Z","of":"dst","value":"10.0.0.2",`},
	} {
		t.Run(c.args, func(t *testing.T) {
			cmd := clitest.Program(t, append([]string{"distinct", "-"}, strings.Fields(c.args)...)...)
			stdin, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			stdout, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer time.AfterFunc(wait.Timeout, func() { _ = cmd.Process.Kill() }).Stop()
			if _, err := stdin.Write(clitest.HourlyPcap(200)); err != nil {
				t.Fatal(err)
			}
			found := false
			lines := bufio.NewReader(stdout)
			for !found && err == nil {
				var line string
				line, err = lines.ReadString('\n')
				found = strings.HasPrefix(line, c.want)
			}
			if !found {
				t.Errorf("no line %q: %v", c.want, err)
			}
			stdin.Close()
			_, _ = io.Copy(io.Discard, lines)
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestUnboundedIPv4 says that --memory does not bound counts of IPv4 addresses with lru, where it
// was given and there are any.
func TestUnboundedIPv4(t *testing.T) {
	in := clitest.Bundled("router-plain.pcapng")
	for args, says := range map[string]bool{
		"--of flow,src --method lru --memory 1MiB":                    true,
		"--of ip --method lru --memory 1MiB --mask4 24":               true,
		"--of flow --method lru --memory 1MiB":                        false,
		"--of src --method lru":                                       false,
		"--of src --memory 1MiB":                                      false,
		"--of src --method lru --memory 1MiB --quiet --csv /dev/null": false,
	} {
		_, errs, code := clitest.Run(append([]string{"distinct", in}, strings.Fields(args)...)...)
		if got := strings.Contains(errs, "--memory does not bound counts of IPv4 addresses"); code != cli.ExitDone || got != says {
			t.Errorf("%s: exit code %d, %q", args, code, errs)
		}
	}
}
