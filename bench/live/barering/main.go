//go:build linux

// Command barering reads a TPACKET_V3 ring of 64 blocks of 1 MiB with the least effort.
// It reads four bytes of each packet and counts packets until SIGINT. bench/live measures
// it beside other receivers:
//
//	barering IFACE
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
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "barering:", err)
		os.Exit(1)
	}
}

const (
	blockBytes = 1 << 20
	blocks     = 64
	waitMillis = 10
)

func run(args []string) error {
	if len(args) != 1 {
		return errors.New("usage: barering IFACE")
	}
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	fd, memory, err := open(args[0])
	if err != nil {
		return err
	}
	packets, sum := read(fd, memory, interrupts)
	stats, err := unix.GetsockoptTpacketStatsV3(fd, unix.SOL_PACKET, unix.PACKET_STATISTICS)
	if err != nil {
		return os.NewSyscallError("getsockopt", err)
	}
	fmt.Printf("%d packets, %d dropped, sum %#x\n", packets, stats.Drops, sum)
	return nil
}

// open returns a socket bound to the interface, and its ring.
func open(name string) (fd int, memory []byte, err error) {
	iface, err := net.InterfaceByName(name)
	if err != nil {
		return -1, nil, err
	}
	const noProtocol = 0 // takes nothing until it is bound
	if fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, noProtocol); err != nil {
		return -1, nil, os.NewSyscallError("socket", err)
	}
	const frameBytes = 1 << 11
	request := unix.TpacketReq3{Block_size: blockBytes, Block_nr: blocks, Frame_size: frameBytes,
		Frame_nr: blockBytes / frameBytes * blocks, Retire_blk_tov: waitMillis}
	if err = unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_VERSION, unix.TPACKET_V3); err == nil {
		err = unix.SetsockoptTpacketReq3(fd, unix.SOL_PACKET, unix.PACKET_RX_RING, &request)
	}
	if err != nil {
		return -1, nil, os.NewSyscallError("setsockopt", err)
	}
	memory, err = unix.Mmap(fd, 0, blockBytes*blocks, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
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
	nextAt, macAt                = 0, 24
)

// read counts packets and sums the bytes read, until an interrupt comes while no packets
// are left.
func read(fd int, memory []byte, interrupts <-chan os.Signal) (packets uint64, sum uint32) {
	native := binary.NativeEndian
	for next := 0; ; next = (next + 1) % blocks {
		block := memory[next*blockBytes:][:blockBytes]
		status := (*uint32)(unsafe.Pointer(&block[statusAt]))
		for atomic.LoadUint32(status)&unix.TP_STATUS_USER == 0 {
			if n, _ := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 2*waitMillis); n > 0 {
				continue
			}
			select {
			case <-interrupts:
				return packets, sum
			default:
			}
		}
		frame := block[native.Uint32(block[firstAt:]):]
		for n := native.Uint32(block[packetsAt:]); n > 0; n-- {
			sum += native.Uint32(frame[native.Uint16(frame[macAt:])+26:])
			frame = frame[native.Uint32(frame[nextAt:]):]
			packets++
		}
		atomic.StoreUint32(status, unix.TP_STATUS_KERNEL)
	}
}
