// SPDX-License-Identifier: Apache-2.0

package afpacket

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/flowdedup/flowdedup/capture/internal/sockets"
)

// frameBytes is the unit in which the kernel wants a ring described. TPACKET_V3 packs
// packets more tightly than that.
const frameBytes = 1 << 11

// openSocket returns a socket with a ring that lets nothing in yet. The order of calls
// matters. A socket made for a protocol takes packets of all interfaces until it is
// bound. A socket that is bound before it has a ring puts packets into its queue.
func openSocket(d *sockets.Device, c *Config) (fd int, memory []byte, err error) {
	fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, noProtocol)
	if err != nil {
		return -1, nil, kernelError(d.Name, "socket", err)
	}
	if memory, err = prepare(fd, d, c); err != nil {
		_ = unix.Close(fd) // the error of prepare is reported
		return -1, nil, err
	}
	return fd, memory, nil
}

// prepare sets up a new socket for openSocket.
func prepare(fd int, d *sockets.Device, c *Config) ([]byte, error) {
	protocol := uint16(noProtocol)
	if usesSocketFilter(d, c) {
		if err := stopReceiving(fd, d, c); err != nil {
			return nil, err
		}
		protocol = unix.ETH_P_ALL
	}
	if err := unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_VERSION, unix.TPACKET_V3); err != nil {
		return nil, kernelError(d.Name, "PACKET_VERSION 3", err)
	}
	if c.HardwareTime {
		if err := unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_TIMESTAMP, unix.SOF_TIMESTAMPING_RAW_HARDWARE); err != nil {
			return nil, kernelError(d.Name, "PACKET_TIMESTAMP", err)
		}
	}
	if ignoreOutgoing(d, c) {
		if err := unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1); err != nil {
			return nil, kernelError(d.Name, "PACKET_IGNORE_OUTGOING", err)
		}
	}
	memory, err := mapRing(fd, d, c)
	if err != nil {
		return nil, err
	}
	if err = bind(fd, d, protocol); err == nil {
		err = setPromiscuous(fd, d, c)
	}
	if err != nil {
		_ = unix.Munmap(memory) // the first error is reported
		return nil, err
	}
	return memory, nil
}

// setPromiscuous makes the interface promiscuous for the lifetime of the socket, if
// Config.Promiscuous is set.
func setPromiscuous(fd int, d *sockets.Device, c *Config) error {
	if !c.Promiscuous || d.Index == 0 || d.Loopback {
		return nil
	}
	member := unix.PacketMreq{Ifindex: int32(d.Index), Type: unix.PACKET_MR_PROMISC}
	if err := unix.SetsockoptPacketMreq(fd, unix.SOL_PACKET, unix.PACKET_ADD_MEMBERSHIP, &member); err != nil {
		return kernelError(d.Name, "PACKET_MR_PROMISC", err)
	}
	return nil
}

// ignoreOutgoing reports whether the kernel leaves out packets that the host sends. On a
// loopback interface it must: every packet comes back as received.
func ignoreOutgoing(d *sockets.Device, c *Config) bool {
	return c.IgnoreOutgoing || d.Loopback && d.Index != 0
}

// sentFrames returns the start of a program that rejects frames that the host sends, as far as the socket
// does not leave them out.
func sentFrames(d *sockets.Device, c *Config) []bpf.RawInstruction {
	switch {
	case c.Rings > 1 && ignoreOutgoing(d, c):
		return noneSent // Before Linux 6.2 a fanout group gets them in spite of options and flags.
	case d.Index == 0:
		return onceOnLoopback // Only some of its interfaces are.
	}
	return nil
}

// mapRing creates the ring in the kernel and maps its memory.
func mapRing(fd int, d *sockets.Device, c *Config) ([]byte, error) {
	blocks := c.RingBytes / c.BlockBytes
	request := unix.TpacketReq3{
		Block_size:     uint32(c.BlockBytes),
		Block_nr:       uint32(blocks),
		Frame_size:     frameBytes,
		Frame_nr:       uint32(c.BlockBytes / frameBytes * blocks),
		Retire_blk_tov: uint32((c.BlockTimeout + time.Millisecond - 1) / time.Millisecond),
	}
	if err := unix.SetsockoptTpacketReq3(fd, unix.SOL_PACKET, unix.PACKET_RX_RING, &request); err != nil {
		return nil, kernelError(d.Name, "PACKET_RX_RING", err)
	}
	// The ring touches every page on every turn: fault all pages in now.
	memory, err := unix.Mmap(fd, 0, c.RingBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		return nil, kernelError(d.Name, "mmap", err)
	}
	return memory, nil
}

// networkOrder returns the number whose memory holds v in big-endian order.
func networkOrder(v uint16) uint16 {
	var p [2]byte
	p[0], p[1] = byte(v>>8), byte(v)
	return native.Uint16(p[:])
}

// fanoutModes has the kernel's number of each Fanout value.
var fanoutModes = [...]int{FanoutHash: unix.PACKET_FANOUT_HASH, FanoutCPU: unix.PACKET_FANOUT_CPU, FanoutQueue: unix.PACKET_FANOUT_QM}

// joinFanout puts the sockets, all bound to d, into one fanout group, which divides the
// packets of d among them.
func joinFanout(rings []*ring, d *sockets.Device, c *Config) error {
	mode := fanoutModes[c.Fanout]
	if ignoreOutgoing(d, c) {
		mode |= unix.PACKET_FANOUT_FLAG_IGNORE_OUTGOING // a group overrides the option of its sockets
	}
	// The kernel picks an unused group number.
	group := (mode | unix.PACKET_FANOUT_FLAG_UNIQUEID) << 16
	for _, r := range rings {
		if err := unix.SetsockoptInt(r.fd, unix.SOL_PACKET, unix.PACKET_FANOUT, group); err != nil {
			return kernelError(d.Name, "PACKET_FANOUT", err)
		}
		id, err := unix.GetsockoptInt(r.fd, unix.SOL_PACKET, unix.PACKET_FANOUT)
		if err != nil {
			return kernelError(d.Name, "PACKET_FANOUT", err)
		}
		group = mode<<16 | id&0xFFFF
	}
	return nil
}

// A socket receives nothing before its ring is ready, and nothing more while the ring is
// drained. There are two ways to switch its intake. A socket that wants all packets whole
// is bound to a protocol without packets. Every other socket gets a filter that rejects all
// packets, and a filter costs some time for each packet; a socket of a fanout group, for example,
// cannot be bound again.

// usesSocketFilter reports which of the two ways is used.
func usesSocketFilter(d *sockets.Device, c *Config) bool {
	return c.Filters != nil || c.SnapLen < MaxSnapLen || c.Rings > 1 || d.Index == 0
}

const (
	// noProtocol makes a new socket that receives nothing.
	noProtocol = 0
	// unusedProtocol is an ethertype that no frame has (RFC 1701, IANA). It is needed
	// because a bind to protocol 0 keeps the protocol that the socket already has.
	unusedProtocol = 0xFFFF
)

// stopReceiving makes the socket receive nothing.
func stopReceiving(fd int, d *sockets.Device, c *Config) error {
	if !usesSocketFilter(d, c) {
		return bind(fd, d, unusedProtocol)
	}
	if err := attachFilter(fd, rejectAll); err != nil {
		return kernelError(d.Name, "SO_ATTACH_FILTER", err)
	}
	return nil
}

// startReceiving makes the socket receive only packets that pass the program.
func startReceiving(fd int, d *sockets.Device, c *Config, program []bpf.RawInstruction) error {
	if !usesSocketFilter(d, c) {
		return bind(fd, d, unix.ETH_P_ALL)
	}
	if err := attachFilter(fd, program); err != nil {
		return kernelError(d.Name, "SO_ATTACH_FILTER", err)
	}
	return nil
}

// checkFilter makes the kernel check the user's program on a socket that receives
// nothing. It runs early: later, when packets are let in, output files exist already.
func checkFilter(d *sockets.Device, c *Config, program []bpf.RawInstruction) error {
	if c.Filters == nil {
		return nil
	}
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, noProtocol)
	if err != nil {
		return kernelError(d.Name, "socket", err)
	}
	defer unix.Close(fd)
	err = attachFilter(fd, program)
	if errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("%s: %w: %w", d.Name, ErrKernelFilter, err)
	}
	if err != nil {
		return kernelError(d.Name, "SO_ATTACH_FILTER", err)
	}
	return nil
}

// bind ties the socket to its device and to a protocol.
func bind(fd int, d *sockets.Device, protocol uint16) error {
	address := unix.SockaddrLinklayer{Protocol: networkOrder(protocol), Ifindex: d.Index}
	if err := unix.Bind(fd, &address); err != nil {
		return kernelError(d.Name, "bind", err)
	}
	return nil
}

// attachFilter replaces the socket filter. No packet passes between the old and the new filter.
func attachFilter(fd int, program []bpf.RawInstruction) error {
	if len(program) > unix.BPF_MAXINSNS {
		return unix.EINVAL // the kernel's own answer; its length field has only 16 bits
	}
	code := make([]unix.SockFilter, len(program))
	for i, ins := range program {
		code[i] = unix.SockFilter{Code: ins.Op, Jt: ins.Jt, Jf: ins.Jf, K: ins.K}
	}
	return unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER,
		&unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]})
}
