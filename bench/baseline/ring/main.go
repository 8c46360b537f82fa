// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Command ring, which is installed as baseline-ring, is the baseline of all receivers and
// forwarders in bench/live. It reads a TPACKET_V3 ring of 64 MiB with the least effort: four
// bytes of each packet. It counts packets until SIGINT. With a second interface it sends each
// packet there from the ring, whose blocks then wait as long as those of flowdedup live
// --forward:
//
//	baseline-ring IFACE [OUT]
package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/afpacket"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "baseline-ring:", err)
		os.Exit(1)
	}
}

const ringBytes = 64 << 20

// ring is a mapped ring, and the data read from it.
type ring struct {
	fd         int
	memory     []byte
	blockBytes int
	waitMillis int
	sender     *afpacket.Sender // nil without an output
	out        capture.Batch
	packets    uint64
	sum        uint32
}

func run(args []string) (err error) {
	r := &ring{blockBytes: 1 << 20, waitMillis: 10}
	switch len(args) {
	case 1:
	case 2:
		r.blockBytes, r.waitMillis = 64<<10, 1
		r.out.Interfaces = []capture.Interface{{LinkType: capture.LinkEthernet}}
		if r.sender, err = afpacket.OpenSender(afpacket.SenderConfig{Interface: args[1]}); err != nil {
			return err
		}
	default:
		return errors.New("usage: baseline-ring IFACE [OUT]")
	}
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	if r.fd, r.memory, err = open(args[0], r.blockBytes, r.waitMillis); err != nil {
		return err
	}
	if err := r.read(interrupts); err != nil {
		return err
	}
	stats, err := unix.GetsockoptTpacketStatsV3(r.fd, unix.SOL_PACKET, unix.PACKET_STATISTICS)
	if err != nil {
		return os.NewSyscallError("getsockopt", err)
	}
	fmt.Printf("%d packets, %d dropped, sum %#x\n", r.packets, stats.Drops, r.sum)
	return nil
}

// open returns a socket bound to the interface, and its ring.
func open(name string, blockBytes, waitMillis int) (fd int, memory []byte, err error) {
	iface, err := net.InterfaceByName(name)
	if err != nil {
		return -1, nil, err
	}
	const noProtocol = 0 // takes nothing until it is bound
	if fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, noProtocol); err != nil {
		return -1, nil, os.NewSyscallError("socket", err)
	}
	const frameBytes = 1 << 11
	request := unix.TpacketReq3{Block_size: uint32(blockBytes), Block_nr: uint32(ringBytes / blockBytes), Frame_size: frameBytes,
		Frame_nr: ringBytes / frameBytes, Retire_blk_tov: uint32(waitMillis)}
	if err = unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_VERSION, unix.TPACKET_V3); err == nil {
		err = unix.SetsockoptTpacketReq3(fd, unix.SOL_PACKET, unix.PACKET_RX_RING, &request)
	}
	if err != nil {
		return -1, nil, os.NewSyscallError("setsockopt", err)
	}
	memory, err = unix.Mmap(fd, 0, ringBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		return -1, nil, os.NewSyscallError("mmap", err)
	}
	const all = unix.ETH_P_ALL<<8&0xFF00 | unix.ETH_P_ALL>>8 // in network order
	return fd, memory, os.NewSyscallError("bind", unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: all, Ifindex: iface.Index}))
}

// Offsets of the fields that are read of struct tpacket_block_desc and struct
// tpacket3_hdr.
const (
	statusAt, packetsAt, firstAt = 8, 12, 16
	nextAt, lenAt, macAt         = 0, 12, 24
)

// read counts packets, sums the bytes read and sends, until an interrupt comes while no
// packets are left.
func (r *ring) read(interrupts <-chan os.Signal) error {
	native := binary.NativeEndian
	for next := 0; ; next = (next + r.blockBytes) % len(r.memory) {
		block := r.memory[next:][:r.blockBytes]
		status := (*uint32)(unsafe.Pointer(&block[statusAt]))
		for atomic.LoadUint32(status)&unix.TP_STATUS_USER == 0 {
			if n, _ := unix.Poll([]unix.PollFd{{Fd: int32(r.fd), Events: unix.POLLIN}}, 2*r.waitMillis); n > 0 {
				continue
			}
			select {
			case <-interrupts:
				return nil
			default:
			}
		}
		r.out.Buf, r.out.Frames = block, r.out.Frames[:0]
		at := native.Uint32(block[firstAt:])
		for n := native.Uint32(block[packetsAt:]); n > 0; n-- {
			frame := block[at:]
			data := uint32(native.Uint16(frame[macAt:]))
			r.sum += native.Uint32(frame[data+26:])
			r.packets++
			if r.sender != nil {
				size := native.Uint32(frame[lenAt:])
				r.out.Frames = append(r.out.Frames, capture.Frame{Data: at + data, CapLen: size, WireLen: size})
			}
			at += native.Uint32(frame[nextAt:])
		}
		if r.sender != nil {
			if err := r.sender.Send(&r.out, nil); err != nil {
				return err
			}
		}
		atomic.StoreUint32(status, unix.TP_STATUS_KERNEL)
	}
}
