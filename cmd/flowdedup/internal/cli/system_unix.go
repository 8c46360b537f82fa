// SPDX-License-Identifier: Apache-2.0

//go:build unix

package cli

import (
	"fmt"
	"os/signal"
	"syscall"
)

// minOpenFiles is how many descriptors the smallest run needs. With fewer than eight the
// Go runtime ends the process without a message of ours.
const minOpenFiles = 16

// checkOpenFiles returns an error if the limit of open files is too low for any run.
func checkOpenFiles() error {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) == nil && limit.Cur < minOpenFiles {
		return fmt.Errorf("only %d files may be open, and %d are needed: raise ulimit -n", limit.Cur, minOpenFiles)
	}
	return nil
}

func ignoreSIGPIPE() { signal.Ignore(syscall.SIGPIPE) }

// hangupIgnored reports whether the parent ignores SIGHUP.
func hangupIgnored() bool { return signal.Ignored(syscall.SIGHUP) }
