// SPDX-License-Identifier: Apache-2.0

package flows_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// TestFlowsInspect recommends what fits.
func TestFlowsInspect(t *testing.T) {
	in := tempFile(t, "in.json", goflowLines)
	sampled := tempFile(t, "sampled.json", strings.ReplaceAll(goflowLines, `"type"`, `"sampling_rate":1000,"type"`))
	alone := tempFile(t, "alone.json", strings.ReplaceAll(goflowLines, "192.0.2.2", "192.0.2.1"))
	reversed := tempFile(t, "reversed.json", strings.Replace(goflowLines, `2000,"packets":10,"src_addr":"10.0.0.1","dst_addr":"10.0.0.2","proto":6,"src_port":1234,"dst_port":443`,
		`2000,"packets":10,"src_addr":"10.0.0.2","dst_addr":"10.0.0.1","proto":6,"src_port":443,"dst_port":1234`, 1))
	twice := func(field string, values ...string) string {
		var all strings.Builder
		for _, value := range values {
			all.WriteString(strings.ReplaceAll(strings.ReplaceAll(goflowLines, "192.0.2.2", "192.0.2.1"), `"type"`, `"`+field+`":`+value+`,"type"`))
		}
		return all.String()
	}
	directions := tempFile(t, "directions.json", twice("flow_direction", `"ingress"`, `"egress"`))
	interfaces := tempFile(t, "interfaces.json", twice("in_if", "1", "5"))
	observations := tempFile(t, "observations.json", twice("observation_point_id", "1", "5"))
	for name, c := range map[string]struct {
		policy string
		says   string
	}{
		directions: {"owner", "--point direction -w"}, interfaces: {"owner", "--point interface -w"},
		observations: {"owner", "--point observation -w"},
		in:           {"owner", "25.0 % of the records"}, sampled: {"", "--boundary"}, alone: {"", "one point"}, reversed: {"", "--flow-key biflow"},
	} {
		out, stderr, code := clitest.Run("flows", "--inspect", "--json", name)
		var r struct {
			Inspection struct {
				Policy string `json:"recommended_policy"`
			}
		}
		if err := json.Unmarshal([]byte(out), &r); err != nil || code != cli.ExitDone {
			t.Fatal(err, code, stderr)
		}
		text, _, _ := clitest.Run("flows", "--inspect", name)
		if r.Inspection.Policy != c.policy || !strings.Contains(text, c.says) {
			t.Errorf("%s: policy %q\n%s", filepath.Base(name), r.Inspection.Policy, text)
		}
	}
}

// TestFlowsInspectCommand recommends a command that finds the same copies: with the flags that
// decide what is one, and names as a shell reads them.
func TestFlowsInspectCommand(t *testing.T) {
	dir := t.TempDir()
	first, second := filepath.Join(dir, "two routers.json"), filepath.Join(dir, "again.json")
	for _, name := range []string{first, second} {
		if err := os.WriteFile(name, []byte(goflowLines), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{first}, "'" + first + "' -w once.ndjson"},
		{[]string{"--flow-key", "biflow+tos", "--prefer", "192.0.2.2,192.0.2.1", "--owner-timeout", "2m", "--quiet=false", second},
			second + " --flow-key=biflow+tos --prefer=192.0.2.2,192.0.2.1 --owner-timeout=2m -w once.ndjson"},
		{[]string{"--point", "interface", "--nat", first, second}, "'" + first + "' " + second + " --nat=true --point same -w once.ndjson"},
	} {
		text, stderr, _ := clitest.Run(append([]string{"flows", "--inspect"}, c.args...)...)
		if !strings.Contains(text, "    flowdedup flows "+c.want+"\n") {
			t.Errorf("%q: no %q in %s%s", c.args, c.want, text, stderr)
		}
	}
}
