// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// TestAdviceLive follows the advice of live.
func TestAdviceLive(t *testing.T) {
	clitest.Lab(t, "left right", "idle other")
	clitest.NeedTcpdump(t)
	for _, command := range []string{"link set idle down", "tuntap add name tunnel mode tun", "link set tunnel up"} {
		clitest.IP(t, command)
	}
	follow(t, true, func(t *testing.T, args []string) (string, int) {
		out, err := clitest.Program(t, args...).CombinedOutput()
		return string(out), clitest.ExitCode(t, err)
	})
}

// TestAdviceFiles raises the limit of open files, as the message says.
func TestAdviceFiles(t *testing.T) {
	for limit, enough := range map[string]bool{"12": false, "64": true} {
		cmd := clitest.Program(t, "dedup", clitest.Bundled("router-plain.pcapng"))
		cmd.Args = append([]string{"sh", "-c", "ulimit -n " + limit + `; exec "$@"`, "sh", cmd.Path}, cmd.Args[1:]...)
		cmd.Path = "/bin/sh"
		out, err := cmd.CombinedOutput()
		if code := clitest.ExitCode(t, err); (code == 0) != enough || strings.Contains(string(out), "raise ulimit -n") == enough {
			t.Errorf("%s: exit code %d: %s", limit, code, out)
		}
	}
}
