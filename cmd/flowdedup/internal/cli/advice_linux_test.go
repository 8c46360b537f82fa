// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
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
