// SPDX-License-Identifier: Apache-2.0

package mirror

import "golang.org/x/sys/unix"

func (c *Capture) notAsked() {
	c.mu.Lock()
	c.asked = false
	c.mu.Unlock()
}

// Silent reports whether a Next waits, and no socket has anything for it: all that came
// before the call was delivered. Any goroutine may call it at any time.
func (c *Capture) Silent() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.asked || c.stopping {
		return false
	}
	for _, s := range c.sockets {
		one := [1]unix.PollFd{{Fd: int32(s.fd), Events: unix.POLLIN}}
		if n, err := unix.Poll(one[:], 0); s.claimed || n != 0 || err != nil {
			return false
		}
	}
	return true
}
