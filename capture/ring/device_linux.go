package ring

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/flowdedup/flowdedup/capture"
)

// device is a network interface as the kernel describes it.
type device struct {
	name     string
	index    int // 0 for Any
	mtu      int
	up       bool
	loopback bool
	link     capture.LinkType
	cooked   bool // a cooked header replaces the link header
}

// lookUp describes the interface of a name in the network namespace of the calling
// thread.
func lookUp(name string) (device, error) {
	if name == Any {
		return device{name: name, up: true, loopback: true, link: capture.LinkLinuxSLL2, cooked: true}, nil
	}
	d := device{name: name}
	request, err := unix.NewIfreq(name)
	if err != nil {
		return d, fmt.Errorf("%q: %w", name, ErrNoInterface)
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return d, os.NewSyscallError("socket", err)
	}
	defer func() { _ = unix.Close(fd) }() // only used for ioctls
	if err := unix.IoctlIfreq(fd, unix.SIOCGIFINDEX, request); err != nil {
		return d, kernelError(name, "SIOCGIFINDEX", err)
	}
	d.index = int(request.Uint32())
	if err := unix.IoctlIfreq(fd, unix.SIOCGIFMTU, request); err != nil {
		return d, kernelError(name, "SIOCGIFMTU", err)
	}
	d.mtu = int(request.Uint32())
	if err := unix.IoctlIfreq(fd, unix.SIOCGIFFLAGS, request); err != nil {
		return d, kernelError(name, "SIOCGIFFLAGS", err)
	}
	flags := request.Uint16()
	d.up, d.loopback = flags&unix.IFF_UP != 0, flags&unix.IFF_LOOPBACK != 0
	if err := unix.IoctlIfreq(fd, unix.SIOCGIFHWADDR, request); err != nil {
		return d, kernelError(name, "SIOCGIFHWADDR", err)
	}
	d.link, d.cooked = linkTypeOf(request.Uint16())
	return d, nil
}

// LinkTypeOf returns the link type of the frames that a capture of this interface
// delivers. The error is ErrNoInterface.
func LinkTypeOf(name string) (capture.LinkType, error) {
	d, err := lookUp(name)
	return d.link, err
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

// kernelError turns an error of the kernel about an interface into one that says what to
// do.
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
