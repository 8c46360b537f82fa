package lab

import (
	"os"
	"os/signal"
	"time"
)

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

// AllowInterrupts makes an interrupt end the programs that are started from now on, even if
// this one was started to ignore it, as shells start what runs in the background of a script.
func AllowInterrupts() {
	if signal.Ignored(os.Interrupt) {
		signal.Notify(make(chan os.Signal, 1), os.Interrupt)
	}
}
