package sockets

import (
	"time"

	"golang.org/x/sys/unix"
)

// CheckEvery is how often an interface that is down is looked up.
const CheckEvery = 200 * time.Millisecond

// Earlier returns the earlier of two times; a zero a counts as none.
func Earlier(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}

// Milliseconds returns the timeout of poll until wake, and -1 (no timeout) for a zero
// wake.
func Milliseconds(now, wake time.Time) int {
	if wake.IsZero() {
		return -1
	}
	return int((max(wake.Sub(now), 0) + time.Millisecond - 1) / time.Millisecond)
}

// Failure returns the pending error of a socket: ENETDOWN, once, after its interface went
// down or away.
func Failure(fd int) error {
	number, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR)
	if err != nil {
		return err
	}
	if number != 0 {
		return unix.Errno(number)
	}
	return nil
}

// Removed reports whether the interface of an index, which a packet socket was bound to, no
// longer exists.
func Removed(fd, index int) bool {
	if fd < 0 {
		return true
	}
	address, err := unix.Getsockname(fd)
	link, ok := address.(*unix.SockaddrLinklayer)
	return err != nil || !ok || link.Ifindex != index
}
