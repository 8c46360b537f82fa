// SPDX-License-Identifier: Apache-2.0

package sockets

import (
	"encoding/binary"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// Event wakes a goroutine that polls. Any goroutine may call Set, and one goroutine at a time the
// other methods.
type Event struct {
	mu sync.Mutex // guards fd between Set and Close
	fd int
}

// NewEvent returns an event that is not set. The caller must call Close.
func NewEvent() (*Event, error) {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, os.NewSyscallError("eventfd", err)
	}
	return &Event{fd: fd}, nil
}

// Socket returns the file descriptor to poll for POLLIN; -1 once closed, which poll skips.
func (e *Event) Socket() int32 { return int32(e.fd) }

// Set sets the event, until Clear. It does nothing after Close.
func (e *Event) Set() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.fd < 0 {
		return
	}
	one := binary.NativeEndian.AppendUint64(nil, 1)
	for {
		// Any other error means that the counter is full, so that the event is set, or that
		// this process may not write: callers that must be sure call Set twice.
		if _, err := unix.Write(e.fd, one); err != unix.EINTR {
			return
		}
	}
}

// Clear makes the event wait for the next Set.
func (e *Event) Clear() {
	var count [8]byte
	_, _ = unix.Read(e.fd, count[:]) // the only error is that it is not set
}

// Close releases the event. It may be called again.
func (e *Event) Close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.fd >= 0 {
		_ = unix.Close(e.fd) // it has nothing to lose
		e.fd = -1
	}
}
