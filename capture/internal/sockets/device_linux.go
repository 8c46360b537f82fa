// SPDX-License-Identifier: Apache-2.0

package sockets

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/flowdedup/flowdedup/capture"
)

// Device is a network interface as the kernel describes it.
type Device struct {
	Name     string
	Index    int // 0 for all interfaces together
	MTU      int
	Up       bool
	Loopback bool
	Link     capture.LinkType
	Cooked   bool // a cooked header replaces the link header

	Driver    string // "" where none says
	Queues    int    // receive queues; 0 where the driver does not say
	HidesTags bool   // it takes VLAN tags off frames (receive offload)
}

// LookUp describes the interface of a name in the network namespace of the calling
// thread. The error is ErrNoInterface, or the kernel's.
func LookUp(name string) (Device, error) {
	fd, err := openIoctls()
	if err != nil {
		return Device{Name: name}, err
	}
	defer func() { _ = unix.Close(fd) }() // only used for ioctls
	return lookUp(fd, name)
}

// openIoctls returns a socket for questions about the interfaces of the network namespace of the
// calling thread.
func openIoctls() (int, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	return fd, os.NewSyscallError("socket", err)
}

// lookUp is LookUp in the namespace of a socket.
func lookUp(fd int, name string) (Device, error) {
	d := Device{Name: name}
	request, err := unix.NewIfreq(name)
	if err != nil {
		return d, fmt.Errorf("%q: %w", name, ErrNoInterface)
	}
	ask := func(question uint) {
		if err == nil {
			err = unix.IoctlIfreq(fd, question, request)
		}
	}
	ask(unix.SIOCGIFINDEX)
	d.Index = int(request.Uint32())
	ask(unix.SIOCGIFMTU)
	d.MTU = int(request.Uint32())
	ask(unix.SIOCGIFFLAGS)
	flags := request.Uint16()
	d.Up, d.Loopback = flags&unix.IFF_UP != 0, flags&unix.IFF_LOOPBACK != 0
	ask(unix.SIOCGIFHWADDR)
	d.Link, d.Cooked = linkTypeOf(request.Uint16())
	switch {
	case errors.Is(err, unix.ENODEV):
		return d, fmt.Errorf("%s: %w", name, ErrNoInterface)
	case err != nil:
		return d, fmt.Errorf("%s: %w", name, os.NewSyscallError("ioctl", err))
	}
	d.askDriver(fd)
	return d, nil
}

// Expect is LookUp. With wait, an interface that does not exist counts as an Ethernet interface that is
// down, as most are: its link type must be known before it is there.
func Expect(name string, wait bool) (Device, error) {
	d, err := LookUp(name)
	if wait && errors.Is(err, ErrNoInterface) && len(name) < unix.IFNAMSIZ {
		return Device{Name: name, Index: -1, Link: capture.LinkEthernet}, nil
	}
	return d, err
}

// Current describes the interface to go on with: the interface named, if it is up, or else the
// interface that packet socket fd is bound to, which may have been renamed. named and err come from
// LookUp. The interface named does not count if any of the sockets others is bound to it: after
// interfaces have swapped names, two sockets would use the same interface.
func Current(named Device, err error, fd int, others []int) (Device, error) {
	if err == nil && named.Up {
		if !slices.ContainsFunc(others, func(other int) bool {
			at, ok := boundTo(other)
			return ok && at == named.Index
		}) {
			return named, nil
		}
		err = fmt.Errorf("%s: %w: the interface that got this name is in use already", named.Name, ErrNoInterface)
	}
	if index, ok := boundTo(fd); ok {
		if bound, failed := net.InterfaceByIndex(index); failed == nil {
			return LookUp(bound.Name)
		}
	}
	return named, err
}

// boundTo returns the index of the interface that a packet socket is bound to: -1 once that was
// removed. It returns false for a socket that is closed.
func boundTo(fd int) (index int, ok bool) {
	address, err := unix.Getsockname(fd)
	link, ok := address.(*unix.SockaddrLinklayer)
	if err != nil || !ok {
		return 0, false
	}
	return link.Ifindex, true
}

// linkTypeOf returns the link type of a raw socket's frames for an ARPHRD_ hardware
// number, as libpcap maps it. Hardware without a reliable link type gets cooked headers.
func linkTypeOf(hardware uint16) (link capture.LinkType, cooked bool) {
	switch hardware {
	case unix.ARPHRD_ETHER, unix.ARPHRD_LOOPBACK:
		return capture.LinkEthernet, false
	case unix.ARPHRD_NONE, unix.ARPHRD_RAWIP, unix.ARPHRD_TUNNEL, unix.ARPHRD_TUNNEL6, unix.ARPHRD_SIT:
		return capture.LinkRaw, false
	case unix.ARPHRD_IEEE80211:
		return capture.LinkIEEE80211, false
	case unix.ARPHRD_IEEE80211_PRISM:
		return capture.LinkPrism, false
	case unix.ARPHRD_IEEE80211_RADIOTAP:
		return capture.LinkRadiotap, false
	}
	return capture.LinkLinuxSLL2, true
}
