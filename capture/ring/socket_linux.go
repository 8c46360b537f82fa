package ring

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// frameBytes is the unit that the kernel wants rings to be described in; version
// 3 packs packets more closely than that.
const frameBytes = 1 << 11

// openSocket returns a socket with a ring that lets nothing in yet. The order matters: a socket made for a protocol takes packets of all
// interfaces before it is bound, and one bound before its ring is there takes
// them into its queue.
func openSocket(d *device, c *Config) (fd int, memory []byte, err error) {
	fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, noProtocol)
	if err != nil {
		return -1, nil, kernelError(d.name, "socket", err)
	}
	if memory, err = prepare(fd, d, c); err != nil {
		_ = unix.Close(fd) // its failure would tell nothing more
		return -1, nil, err
	}
	return fd, memory, nil
}

// prepare does to a new socket what openSocket says.
func prepare(fd int, d *device, c *Config) ([]byte, error) {
	protocol := uint16(noProtocol)
	if usesSocketFilter(d, c) {
		if err := stopReceiving(fd, d, c); err != nil {
			return nil, err
		}
		protocol = unix.ETH_P_ALL
	}
	if err := unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_VERSION, unix.TPACKET_V3); err != nil {
		return nil, kernelError(d.name, "PACKET_VERSION 3", err)
	}
	if c.HardwareTime {
		if err := unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_TIMESTAMP, unix.SOF_TIMESTAMPING_RAW_HARDWARE); err != nil {
			return nil, kernelError(d.name, "PACKET_TIMESTAMP", err)
		}
	}
	if ignoreOutgoing(d, c) {
		if err := unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1); err != nil {
			return nil, kernelError(d.name, "PACKET_IGNORE_OUTGOING", err)
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
		_ = unix.Munmap(memory) // it is ours; the error that counts is the other
		return nil, err
	}
	return memory, nil
}

// setPromiscuous makes the interface promiscuous for as long as the socket is open, if that is
// wanted.
func setPromiscuous(fd int, d *device, c *Config) error {
	if !c.Promiscuous || d.index == 0 || d.loopback {
		return nil
	}
	member := unix.PacketMreq{Ifindex: int32(d.index), Type: unix.PACKET_MR_PROMISC}
	if err := unix.SetsockoptPacketMreq(fd, unix.SOL_PACKET, unix.PACKET_ADD_MEMBERSHIP, &member); err != nil {
		return kernelError(d.name, "PACKET_MR_PROMISC", err)
	}
	return nil
}

// ignoreOutgoing tells whether the kernel is to leave out what the host sends: on a
// loopback interface that comes back.
func ignoreOutgoing(d *device, c *Config) bool {
	return c.IgnoreOutgoing || d.loopback && d.index != 0
}

// mapRing makes the kernel set up the ring, and returns its memory.
func mapRing(fd int, d *device, c *Config) ([]byte, error) {
	blocks := c.RingBytes / c.BlockBytes
	request := unix.TpacketReq3{
		Block_size:     uint32(c.BlockBytes),
		Block_nr:       uint32(blocks),
		Frame_size:     frameBytes,
		Frame_nr:       uint32(c.BlockBytes / frameBytes * blocks),
		Retire_blk_tov: uint32((c.BlockTimeout + time.Millisecond - 1) / time.Millisecond),
	}
	if err := unix.SetsockoptTpacketReq3(fd, unix.SOL_PACKET, unix.PACKET_RX_RING, &request); err != nil {
		return nil, kernelError(d.name, "PACKET_RX_RING", err)
	}
	// Every page is touched at every turn of the ring: better now than one by one.
	memory, err := unix.Mmap(fd, 0, c.RingBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		return nil, kernelError(d.name, "mmap", err)
	}
	return memory, nil
}

// networkOrder returns v as it reads in big-endian memory.
func networkOrder(v uint16) uint16 {
	var p [2]byte
	p[0], p[1] = byte(v>>8), byte(v)
	return native.Uint16(p[:])
}

// fanoutModes are the kernel's numbers of the Fanout values.
var fanoutModes = [...]int{FanoutHash: unix.PACKET_FANOUT_HASH, FanoutCPU: unix.PACKET_FANOUT_CPU, FanoutQueue: unix.PACKET_FANOUT_QM}

// joinFanout lets the sockets, all bound to d, divide its packets among them.
func joinFanout(rings []*ring, d *device, c *Config) error {
	mode := fanoutModes[c.Fanout]
	if ignoreOutgoing(d, c) {
		mode |= unix.PACKET_FANOUT_FLAG_IGNORE_OUTGOING // the sockets' own option does not count then
	}
	// The kernel finds a number for the group that nobody else uses.
	group := (mode | unix.PACKET_FANOUT_FLAG_UNIQUEID) << 16
	for _, r := range rings {
		if err := unix.SetsockoptInt(r.fd, unix.SOL_PACKET, unix.PACKET_FANOUT, group); err != nil {
			return kernelError(d.name, "PACKET_FANOUT", err)
		}
		id, err := unix.GetsockoptInt(r.fd, unix.SOL_PACKET, unix.PACKET_FANOUT)
		if err != nil {
			return kernelError(d.name, "PACKET_FANOUT", err)
		}
		group = mode<<16 | id&0xFFFF
	}
	return nil
}

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
