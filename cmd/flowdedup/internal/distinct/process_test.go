// SPDX-License-Identifier: Apache-2.0

package distinct_test

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/bench/lab/wait"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/version"
)

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
