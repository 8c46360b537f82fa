package lab

import "time"

// Timeout is how long tests wait for what must come. It lasts on a machine with forty
// times as much work as processors.
const Timeout = 2 * time.Minute

// WaitFor waits until something is true. It returns false after Timeout.
func WaitFor(done func() bool) bool {
	for deadline := time.Now().Add(Timeout); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			return false
		}
	}
	return true
}
