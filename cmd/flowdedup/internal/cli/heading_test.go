// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"cmp"
	"encoding/json"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/commands"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/version"
)

// fieldLine matches a field in fields.md: its name, its type, and its commands if it is not in the
// section of one.
var fieldLine = regexp.MustCompile("(?m)^\\| `([a-z0-9_]+)` \\| ([^|]*) \\| [^|]* \\|(?: (.*) \\|)?$")

// TestHeadings runs each command that has --json. Each object says command, version and schema,
// and fields.md has all its fields.
func TestHeadings(t *testing.T) {
	fields := map[string][]string{} // type and commands
	for section := range strings.SplitSeq(string(clitest.ReadFile(t, "../../doc/fields.md")), "\n## ") {
		command, _, _ := strings.Cut(section, "\n")
		for _, line := range fieldLine.FindAllStringSubmatch(section, -1) {
			fields[line[1]] = []string{line[2], cmp.Or(line[3], command)}
		}
	}
	in, out := clitest.Bundled("router-ordered.pcapng"), clitest.Bundled("router-vlan.pcapng")
	lines := map[string][]string{
		"dedup": {in}, "distinct": {in, "--every", "1s", "--changes", "--total"}, "inspect": {in}, "compare": {in, out}, "verify": {in, out},
		"flows": {"--inspect", "../flows/testdata/unread-a.csv", "../flows/testdata/unread-b.csv"}, "plan": {"--rate", "1.5M", "--window", "10ms"},
		"live": {"-i", "vxlan://127.0.0.1:14789", "--duration", "50ms"},
	}
	for _, cmd := range commands.Root().Commands() {
		if cmd.Flags().Lookup("json") == nil || cmd.Name() == "live" && runtime.GOOS != "linux" {
			continue
		}
		args := lines[cmd.Name()]
		text, errs, code := clitest.Run(append([]string{cmd.Name(), "--json"}, args...)...)
		if args == nil || code != cli.ExitDone && code != cli.ExitDifferent {
			t.Errorf("%s: exit code %d, %s", cmd.Name(), code, errs)
		}
		objects := 0
		for d := json.NewDecoder(strings.NewReader(text)); d.More(); objects++ {
			var object map[string]any
			if err := d.Decode(&object); err != nil {
				t.Fatal(cmd.Name(), err)
			}
			if object["command"] != cmd.Name() || object["version"] != version.String() || object["schema"] != 1.0 {
				t.Errorf("%s: command %v, version %v, schema %v", cmd.Name(), object["command"], object["version"], object["schema"])
			}
			checkFields(t, cmd.Name(), object, fields)
		}
		if objects == 0 {
			t.Errorf("%s prints nothing", cmd.Name())
		}
	}
}

// checkFields looks the fields of an object up, and of the objects in it. An "object of" something
// has keys that are no fields.
func checkFields(t *testing.T, command string, value any, fields map[string][]string) {
	switch v := value.(type) {
	case []any:
		for _, one := range v {
			checkFields(t, command, one, fields)
		}
	case map[string]any:
		for name, one := range v {
			field := fields[name]
			if field == nil || !strings.Contains(", "+field[1]+",", ", "+command+",") {
				t.Errorf("fields.md has no field %s of %s", name, command)
				continue
			}
			if inner, ok := one.(map[string]any); ok && strings.Contains(field[0], "object of") {
				for _, each := range inner {
					checkFields(t, command, each, fields)
				}
				continue
			}
			checkFields(t, command, one, fields)
		}
	}
}
