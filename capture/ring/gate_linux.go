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

// filtered tells whether the gate is a filter.
func filtered(d *device, c *Config) bool {
	return c.Filters != nil || c.SnapLen < MaxSnapLen || c.Rings > 1 || d.index == 0
}

const (
	// noProtocol is what sockets begin with that take nothing.
	noProtocol = 0
	// closedProtocol is a type that Ethernet frames never have (RFC 1701, IANA). Once a
	// socket is bound to a protocol, the kernel takes 0 for the one that it has.
	closedProtocol = 0xFFFF
)

// closeGate lets nothing in.
func closeGate(fd int, d *device, c *Config) error {
	if !filtered(d, c) {
		return bind(fd, d, closedProtocol)
	}
	if err := setFilter(fd, closedFilter); err != nil {
		return describe(d.name, "SO_ATTACH_FILTER", err)
	}
	return nil
}

// openGate lets in what passes the program. Nothing else comes in between.
func openGate(fd int, d *device, c *Config, program []bpf.RawInstruction) error {
	if !filtered(d, c) {
		return bind(fd, d, unix.ETH_P_ALL)
	}
	if err := setFilter(fd, program); err != nil {
		return describe(d.name, "SO_ATTACH_FILTER", err)
	}
	return nil
}

// tryFilter has the kernel check the user's program before anything else is opened: once
// packets are let in, files exist already. The socket takes no packets.
func tryFilter(d *device, c *Config, program []bpf.RawInstruction) error {
	if c.Filters == nil {
		return nil
	}
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, noProtocol)
	if err != nil {
		return describe(d.name, "socket", err)
	}
	defer unix.Close(fd)
	err = setFilter(fd, program)
	if errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("%s: %w: %w", d.name, ErrKernelFilter, err)
	}
	if err != nil {
		return describe(d.name, "SO_ATTACH_FILTER", err)
	}
	return nil
}

// bind ties the socket to its device, for the packets of a protocol.
func bind(fd int, d *device, protocol uint16) error {
	address := unix.SockaddrLinklayer{Protocol: networkOrder(protocol), Ifindex: d.index}
	if err := unix.Bind(fd, &address); err != nil {
		return describe(d.name, "bind", err)
	}
	return nil
}

// setFilter puts a filter on the socket, in place of the one before. No packet
// passes between the two.
func setFilter(fd int, program []bpf.RawInstruction) error {
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
