// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"os"
	"os/signal"
)

// AllowInterrupts makes an interrupt end the programs that are started from now on, even if
// this one was started to ignore it, as shells start what runs in the background of a script.
func AllowInterrupts() {
	if signal.Ignored(os.Interrupt) {
		signal.Notify(make(chan os.Signal, 1), os.Interrupt)
	}
}
