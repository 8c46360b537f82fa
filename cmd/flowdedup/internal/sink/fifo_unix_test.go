// SPDX-License-Identifier: Apache-2.0

//go:build unix

package sink

import "syscall"

func mkfifo(name string) error { return syscall.Mkfifo(name, 0o600) }
