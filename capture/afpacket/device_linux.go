// SPDX-License-Identifier: Apache-2.0

package afpacket

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/sockets"
)

// lookUp describes the interface of a name, or all of them.
func lookUp(name string) (sockets.Device, error) {
	if name == Any {
		return sockets.Device{Name: name, Up: true, Loopback: true, Link: capture.LinkLinuxSLL2, Cooked: true}, nil
	}
	return sockets.LookUp(name)
}

// expect describes the interface of a name, or all of them. With wait it need not exist.
func expect(name string, wait bool) (sockets.Device, error) {
	if name == Any {
		return lookUp(name)
	}
	return sockets.Expect(name, wait)
}

// LinkTypeOf returns the link type of the frames that a capture of this interface delivers. With
// wait, which is Config.Wait, an interface that does not exist has Ethernet frames. The error is
// ErrNoInterface.
func LinkTypeOf(name string, wait bool) (capture.LinkType, error) {
	d, err := expect(name, wait)
	return d.Link, err
}

// kernelError adds advice to an error of the kernel about an interface.
func kernelError(name, call string, err error) error {
	reason := os.NewSyscallError(call, err)
	switch {
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES):
		reason = ErrNotPermitted
	case errors.Is(err, unix.ENODEV), errors.Is(err, unix.ENXIO):
		reason = ErrNoInterface
	case errors.Is(err, unix.ENETDOWN):
		reason = ErrDown
	case errors.Is(err, unix.ENOMEM):
		reason = fmt.Errorf("%w: choose a smaller ring", reason)
	}
	return fmt.Errorf("%s: %w", name, reason)
}

// StampsInHardware reports whether the network card of an interface gives all packets that
// it receives a time (SIOCGHWTSTAMP, as hwtstamp_ctl sets it; Linux,
// Documentation/networking/timestamping.rst). Only then has Config.HardwareTime an effect.
// Where the kernel does not say, it reports false.
func StampsInHardware(name string) bool {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	stamping, err := unix.IoctlGetHwTstamp(fd, name)
	return err == nil && stamping.Rx_filter == unix.HWTSTAMP_FILTER_ALL
}
