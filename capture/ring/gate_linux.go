package ring

import (
	"errors"
	"fmt"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// A socket has a gate that is closed before its ring is ready, and again while the
// ring is drained. Where all packets are wanted whole, that is the protocol it is bound
// to. Else it is its filter, which costs something for each packet: a socket of a
// fanout group cannot be bound anew.

// usesSocketFilter tells whether the gate is a filter.
func usesSocketFilter(d *device, c *Config) bool {
	return c.Filters != nil || c.SnapLen < MaxSnapLen || c.Rings > 1 || d.index == 0
}

const (
	// noProtocol is what sockets begin with that take nothing.
	noProtocol = 0
	// unusedProtocol is a type that Ethernet frames never have (RFC 1701, IANA). Once a
	// socket is bound to a protocol, the kernel takes 0 for the one that it has.
	unusedProtocol = 0xFFFF
)

// stopReceiving lets nothing in.
func stopReceiving(fd int, d *device, c *Config) error {
	if !usesSocketFilter(d, c) {
		return bind(fd, d, unusedProtocol)
	}
	if err := attachFilter(fd, rejectAll); err != nil {
		return kernelError(d.name, "SO_ATTACH_FILTER", err)
	}
	return nil
}

// startReceiving lets in what passes the program. Nothing else comes in between.
func startReceiving(fd int, d *device, c *Config, program []bpf.RawInstruction) error {
	if !usesSocketFilter(d, c) {
		return bind(fd, d, unix.ETH_P_ALL)
	}
	if err := attachFilter(fd, program); err != nil {
		return kernelError(d.name, "SO_ATTACH_FILTER", err)
	}
	return nil
}

// checkFilter has the kernel check the user's program before anything else is opened: once
// packets are let in, files exist already. The socket takes no packets.
func checkFilter(d *device, c *Config, program []bpf.RawInstruction) error {
	if c.Filters == nil {
		return nil
	}
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, noProtocol)
	if err != nil {
		return kernelError(d.name, "socket", err)
	}
	defer unix.Close(fd)
	err = attachFilter(fd, program)
	if errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("%s: %w: %w", d.name, ErrKernelFilter, err)
	}
	if err != nil {
		return kernelError(d.name, "SO_ATTACH_FILTER", err)
	}
	return nil
}

// bind ties the socket to its device, for the packets of a protocol.
func bind(fd int, d *device, protocol uint16) error {
	address := unix.SockaddrLinklayer{Protocol: networkOrder(protocol), Ifindex: d.index}
	if err := unix.Bind(fd, &address); err != nil {
		return kernelError(d.name, "bind", err)
	}
	return nil
}

// attachFilter puts a filter on the socket, in place of the one before. No packet
// passes between the two.
func attachFilter(fd int, program []bpf.RawInstruction) error {
	if len(program) > unix.BPF_MAXINSNS {
		return unix.EINVAL // as the kernel says, which is told 16 bits of the length
	}
	code := make([]unix.SockFilter, len(program))
	for i, ins := range program {
		code[i] = unix.SockFilter{Code: ins.Op, Jt: ins.Jt, Jf: ins.Jf, K: ins.K}
	}
	return unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER,
		&unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]})
}
