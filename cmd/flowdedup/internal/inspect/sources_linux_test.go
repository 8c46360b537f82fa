// SPDX-License-Identifier: Apache-2.0

package inspect_test

import (
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// TestInspectSources says in one line what has no meaning.
func TestInspectSources(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"-i tcp://a:1", "as inputs, without -i"},
		{"-i lo -i vxlan://", "not both at a time"},
		{"-i vxlan:// --fanout cpu", "--fanout needs an interface"},
		{"-i vxlan://:x", "not a target of mirrored traffic"},
	} {
		_, errs, code := clitest.Run(append([]string{"inspect"}, strings.Fields(c.args)...)...)
		if code != cli.ExitUsage || strings.Count(errs, "\n") != 1 || !strings.Contains(errs, c.want) {
			t.Errorf("%s: exit code %d, %q", c.args, code, errs)
		}
	}
}
