// SPDX-License-Identifier: Apache-2.0

package afpacket

import (
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/flowdedup/flowdedup/capture/internal/sockets"
)

const (
	xdpFrame  = 2 << 10 // bytes of memory for a frame
	xdpFrames = 1 << 10 // and slots of each ring
	// xdpBatch is how many frames the kernel takes in one call (TX_BATCH_SIZE).
	xdpBatch = 32
)

// xdpSender sends frames through an AF_XDP socket in copy mode, for a Sender whose interface is an
// end of a veth pair. For each frame a packet socket copies and checks a message and dissects the
// frame, which this socket does not: frames of 60 bytes take 0.6 of the processor time. It needs no
// XDP program. Whatever it cannot send is left to the packet socket: long frames, and frames that
// the interface refuses. Both sockets pass frames to the driver within the call, so order stays.
type xdpSender struct {
	fd       int // -1 for none
	memory   []byte
	tx, done sockets.Ring // frames to send; frames that the kernel needs no more
	free     []uint64     // places in memory that the kernel does not use; the last is next
	longest  uint64       // frame in bytes
	invalid  uint64       // descriptors that the kernel has skipped
}

// reopen closes the sender, and opens it to a device. It takes no frame if the device is not of a veth
// pair or the kernel refuses: without CAP_NET_RAW or AF_XDP, or if another socket has the queue.
func (x *xdpSender) reopen(d *sockets.Device) {
	x.close()
	if d.Driver == "veth" && x.open(d) != nil {
		x.close()
	}
}

func (x *xdpSender) open(d *sockets.Device) (err error) {
	if x.fd, err = newXDPSocket(unix.AF_XDP, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0); err != nil {
		return err
	}
	x.memory, err = unix.Mmap(-1, 0, xdpFrames*xdpFrame, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return err
	}
	if err := sockets.RegisterMemory(x.fd, x.memory, xdpFrame, 0); err != nil {
		return err
	}
	for _, o := range [][3]int{
		{unix.SOL_XDP, unix.XDP_UMEM_FILL_RING, 1}, // unused, but the kernel requires it
		{unix.SOL_XDP, unix.XDP_UMEM_COMPLETION_RING, xdpFrames},
		{unix.SOL_XDP, unix.XDP_TX_RING, xdpFrames},
		{unix.SOL_SOCKET, unix.SO_SNDBUF, sendBuffer},
	} {
		if err := unix.SetsockoptInt(x.fd, o[0], o[1], o[2]); err != nil {
			return err
		}
	}
	var at unix.XDPMmapOffsets
	err = sockets.XDPOption(x.fd, unix.XDP_MMAP_OFFSETS, unsafe.Pointer(&at), unsafe.Sizeof(at))
	if err == nil {
		err = x.tx.Map(x.fd, unix.XDP_PGOFF_TX_RING, &at.Tx, xdpFrames, unsafe.Sizeof(unix.XDPDesc{}))
	}
	if err == nil {
		err = x.done.Map(x.fd, unix.XDP_UMEM_PGOFF_COMPLETION_RING, &at.Cr, xdpFrames, unsafe.Sizeof(uint64(0)))
	}
	if err != nil {
		return err
	}
	for i := range uint64(xdpFrames) {
		x.free = append(x.free, i*xdpFrame)
	}
	x.longest = uint64(min(xdpFrame, etherLen+d.MTU)) // beyond, the packet socket decides
	return x.bind(d.Index)
}

// newXDPSocket is a variable for tests of the packet socket.
var newXDPSocket = unix.Socket

// bind binds the socket to the first queue of an interface. The kernel frees a queue some time
// after its last socket was closed.
func (x *xdpSender) bind(index int) (err error) {
	const tries, pause = 50, 2 * time.Millisecond
	address := &unix.SockaddrXDP{Flags: unix.XDP_COPY, Ifindex: uint32(index)}
	for range tries {
		if err = unix.Bind(x.fd, address); err != unix.EBUSY {
			return err
		}
		time.Sleep(pause)
	}
	return err
}

// send offers frames to the kernel in order, and returns how many it took. The kernel has none of the others.
func (x *xdpSender) send(frames []unix.Iovec) int {
	if x.fd < 0 {
		return 0
	}
	x.collect()
	first, slots, n := *x.tx.Producer, x.slots(), 0
	for n < min(len(frames), xdpBatch, len(x.free)) && uint64(frames[n].Len) <= x.longest {
		at := x.free[len(x.free)-1-n]
		copy(x.memory[at:], unsafe.Slice(frames[n].Base, frames[n].Len))
		slots[(first+uint32(n))%xdpFrames] = unix.XDPDesc{Addr: at, Len: uint32(frames[n].Len)}
		n++
	}
	if n == 0 {
		return 0
	}
	x.free = x.free[:len(x.free)-n]
	atomic.StoreUint32(x.tx.Producer, first+uint32(n))
	err := x.kick()
	if err == nil && x.idle() {
		return n
	}
	n -= x.withdraw(first, n)
	if err == unix.EBUSY && n > 0 {
		n-- // the interface dropped the last frame that the kernel took
	}
	return n
}

// slots are the slots of the ring of frames to send.
func (x *xdpSender) slots() []unix.XDPDesc {
	return unsafe.Slice((*unix.XDPDesc)(x.tx.Slots), xdpFrames)
}

// kick makes the kernel send.
func (x *xdpSender) kick() error { return unix.Send(x.fd, nil, unix.MSG_DONTWAIT) }

// idle reports whether the kernel is done with all descriptors.
func (x *xdpSender) idle() bool { return atomic.LoadUint32(x.tx.Consumer) == *x.tx.Producer }

// nowhere is the address of withdrawn descriptors, which some kernels report as sent.
const nowhere = 1<<64 - xdpFrame

// collect takes back the memory of frames that have been sent.
func (x *xdpSender) collect() {
	at, end := *x.done.Consumer, atomic.LoadUint32(x.done.Producer)
	for ; at != end; at++ {
		if address := unsafe.Slice((*uint64)(x.done.Slots), xdpFrames)[at%xdpFrames]; address != nowhere {
			x.free = append(x.free, address)
		}
	}
	atomic.StoreUint32(x.done.Consumer, end)
}

// withdraw takes back the frames that the kernel has not taken of the n last frames, which begin at
// index first, and returns their number. It makes all n descriptors invalid and lets the kernel go
// over them: it counts those that it finds. After an error its own index may lag (before Linux
// 6.17). It is all there is if the kernel does not get to the end, as the interface is down or gone;
// the socket is closed then.
func (x *xdpSender) withdraw(first uint32, n int) int {
	for i := range uint32(n) {
		x.slots()[(first+i)%xdpFrames].Addr = nowhere
	}
	for i := 0; i <= n && !x.idle(); i++ { // it skips a descriptor a call (since Linux 6.6), and then moves its index
		_ = x.kick() // idle shows whether it worked
	}
	var s unix.XDPStatistics
	if err := sockets.XDPOption(x.fd, unix.XDP_STATISTICS, unsafe.Pointer(&s), unsafe.Sizeof(s)); err != nil || !x.idle() {
		n = int(first + uint32(n) - atomic.LoadUint32(x.tx.Consumer))
		x.close()
		return n
	}
	left := min(int(s.Tx_invalid_descs-x.invalid), n)
	x.invalid = s.Tx_invalid_descs
	x.free = x.free[:len(x.free)+left] // send took these from the end
	return left
}

// close releases everything. None of these calls fails on a valid mapping or socket.
func (x *xdpSender) close() {
	x.tx.Unmap()
	x.done.Unmap()
	if x.fd >= 0 {
		_ = unix.Close(x.fd)
	}
	if x.memory != nil {
		_ = unix.Munmap(x.memory)
	}
	*x = xdpSender{fd: -1}
}
