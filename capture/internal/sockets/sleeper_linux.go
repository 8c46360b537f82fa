// SPDX-License-Identifier: Apache-2.0

package sockets

import (
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// sleeper lets a goroutine wait for sockets as the runtime waits for the sockets of package net:
// without a thread in a system call. For such a thread the runtime starts another, and looks at it
// every 20 µs once it is back, which costs four to ten system calls for each wait. All sockets are
// in one epoll set, and the runtime waits for this set.
type sleeper struct {
	set   *os.File
	wait  syscall.RawConn
	ready func(uintptr) bool
}

// newSleeper returns a sleeper that wakes when look returns true. Whatever makes it true
// must be an event of a socket that was added.
func newSleeper(hasWork func() bool) (*sleeper, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	if err := unix.SetNonblock(fd, true); err != nil { // else the runtime takes it for a file
		_ = unix.Close(fd) // the first error is the one to report
		return nil, os.NewSyscallError("fcntl", err)
	}
	s := &sleeper{set: os.NewFile(uintptr(fd), "epoll"), ready: func(uintptr) bool { return hasWork() }}
	if err = s.set.SetReadDeadline(time.Time{}); err == nil { // the runtime can wait for it
		s.wait, err = s.set.SyscallConn()
	}
	if err != nil {
		s.close()
		return nil, fmt.Errorf("epoll: %w", err)
	}
	return s, nil
}

// add adds a socket, and nothing for -1. It leaves the set when it is closed.
func (s *sleeper) add(fd int32) (err error) {
	if fd < 0 {
		return nil
	}
	done := s.wait.Control(func(set uintptr) {
		err = unix.EpollCtl(int(set), unix.EPOLL_CTL_ADD, int(fd), &unix.EpollEvent{Events: unix.EPOLLIN, Fd: fd})
	})
	if err == nil {
		err = done
	}
	return os.NewSyscallError("epoll_ctl", err)
}

// sleep returns when look returns true, but not after until, unless that is zero. It returns at
// once where over is true. Whoever makes over true calls wake afterwards, from any goroutine.
func (s *sleeper) sleep(until time.Time, over func() bool) {
	_ = s.set.SetReadDeadline(until) // it has succeeded before
	if over() {                      // its wake may have come before this deadline
		return
	}
	_ = s.wait.Read(s.ready) // an error means that the time is over
}

// wake ends a sleep, without a system call that could fail.
func (s *sleeper) wake() { _ = s.set.SetReadDeadline(time.Unix(1, 0)) } // closed, it sleeps no more

func (s *sleeper) close() { _ = s.set.Close() } // it has nothing to lose
