// SPDX-License-Identifier: Apache-2.0

package xdp

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/afpacket"
	"github.com/flowdedup/flowdedup/capture/internal/sockets"
)

// expect describes an interface that AF_XDP can capture from. With wait it need not exist.
func expect(name string, wait bool) (sockets.Device, error) {
	dev, err := sockets.Expect(name, wait)
	switch {
	case err != nil:
		return dev, err
	case dev.Loopback:
		return dev, fmt.Errorf("%s: %w: it is a loopback interface", name, ErrUnfit)
	case dev.Link != capture.LinkEthernet:
		return dev, fmt.Errorf("%s: %w: its link type is %v, not Ethernet", name, ErrUnfit, dev.Link)
	}
	return dev, nil
}

// Check returns why Open would refuse an interface, as far as this shows without a program. With wait,
// which is Config.Wait, it need not exist.
func Check(name string, c *Config, wait bool) error {
	dev, err := expect(name, wait)
	if err == nil && dev.Index > 0 && !c.Take {
		err = refuseUsed(name)
	}
	return err
}

// refuseUsed returns an error if the host needs the packets of an interface: it has an
// address, or other interfaces lie over it. IPv6 gives every interface an address of its
// link, which does not count.
func refuseUsed(name string) error {
	dev, err := net.InterfaceByName(name)
	if err != nil {
		return fmt.Errorf("%s: %w", name, afpacket.ErrNoInterface)
	}
	addresses, err := dev.Addrs()
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	for _, a := range addresses {
		if network, ok := a.(*net.IPNet); !ok || !network.IP.IsLinkLocalUnicast() {
			return fmt.Errorf("%s: %w: it has address %v", name, ErrInUse, a)
		}
	}
	over, err := afpacket.Over(name)
	switch {
	case err != nil:
		return err
	case len(over) > 0:
		return fmt.Errorf("%s: %w: it belongs to %s", name, ErrInUse, strings.Join(over, ", "))
	}
	return nil
}

// guard is a packet socket whose packets nobody reads. It makes its interface promiscuous for
// as long as it is open, gets an error when the interface goes down or away, and counts what the host
// gets while it is bound to all protocols.
func guard(index int, promiscuous bool) (int, error) {
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return -1, os.NewSyscallError("socket", err)
	}
	if err = bindGuard(fd, index, unusedProtocol); err == nil {
		err = unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1)
	}
	if err == nil {
		err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, 1) // the kernel takes the least that it allows
	}
	if err == nil && promiscuous {
		member := unix.PacketMreq{Ifindex: int32(index), Type: unix.PACKET_MR_PROMISC}
		err = unix.SetsockoptPacketMreq(fd, unix.SOL_PACKET, unix.PACKET_ADD_MEMBERSHIP, &member)
	}
	if err != nil {
		_ = unix.Close(fd) // the first error is reported
		return -1, os.NewSyscallError("packet socket", err)
	}
	return fd, nil
}

// Protocols to bind a guard to, in network byte order.
const (
	unusedProtocol = 0xFFFF // no frame has it (RFC 1701, IANA)
	allProtocols   = unix.ETH_P_ALL<<8&0xFF00 | unix.ETH_P_ALL>>8
)

func bindGuard(fd, index int, protocol uint16) error {
	return unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: protocol, Ifindex: index})
}

// explain adds advice to an error of the kernel about an interface. It returns nil for nil.
func explain(name string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES):
		err = ErrNotPermitted
	case errors.Is(err, unix.ENODEV), errors.Is(err, unix.ENXIO):
		err = afpacket.ErrNoInterface
	case errors.Is(err, unix.ENETDOWN):
		err = afpacket.ErrDown
	case errors.Is(err, unix.EBUSY):
		err = fmt.Errorf("another XDP program or AF_XDP socket is on the interface (ip link show %s): %w", name, err)
	case errors.Is(err, unix.ENOBUFS), errors.Is(err, unix.ENOMEM):
		err = fmt.Errorf("%w: choose a smaller ring, or allow more locked memory (ulimit -l)", err)
	case errors.Is(err, unix.EAFNOSUPPORT), errors.Is(err, unix.ENOSYS), errors.Is(err, unix.ENOPROTOOPT),
		errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.EINVAL):
		err = fmt.Errorf("the kernel (Linux 5.9 with CONFIG_XDP_SOCKETS is needed) or the driver has no AF_XDP: %w", err)
	}
	return fmt.Errorf("%s: %w", name, err)
}
