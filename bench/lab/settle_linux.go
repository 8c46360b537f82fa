// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"os"
	"strings"
	"time"

	"github.com/flowdedup/flowdedup/bench/lab/wait"
)

// ticks is longer than two ticks of the kernel's clock.
const ticks = 25 * time.Millisecond

// Settle waits until the kernel has delivered what was sent before. On a busy processor it
// puts off a part: frames wait in the processor's backlog, or in the queue of a pair until
// the next tick.
func Settle() {
	const column = 11 // of the backlog, in hexadecimal digits
	empty := map[int]bool{}
	wait.For(func() bool {
		text, _ := os.ReadFile("/proc/thread-self/net/softnet_stat") // without it, ticks have to do
		all := true
		for processor, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
			if words := strings.Fields(line); len(words) <= column || strings.Trim(words[column], "0") == "" {
				empty[processor] = true
			}
			all = all && empty[processor]
		}
		return all
	})
	time.Sleep(ticks)
}
