// SPDX-License-Identifier: Apache-2.0

package xdp

import (
	"os"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/flowdedup/flowdedup/capture/internal/sockets"
)

// socket is an AF_XDP socket with its memory and its two rings. It only receives: the
// kernel takes free frames of memory from the fill ring, and returns them with packets in
// the receive ring. Both rings have a slot for every frame, so neither is ever full.
type socket struct {
	fd     int // -1 while it is closed
	memory []byte
	frame  uint64 // bytes of a frame: a power of two
	rx     sockets.Ring
	fill   sockets.Ring
}

// size has the sizes of a socket.
type size struct {
	bytes int  // of its memory
	frame int  // of that, a packet
	split bool // a packet may take several frames
}

// openSocket returns a socket bound to a queue. It receives nothing before a program hands
// packets to it. copied keeps the kernel from trying zero copy.
func openSocket(index, queue int, s size, copied bool) (*socket, error) {
	x := &socket{fd: -1, frame: uint64(s.frame)}
	if err := x.open(index, queue, s, copied); err != nil {
		x.close()
		return nil, err
	}
	return x, nil
}

func (x *socket) open(index, queue int, s size, copied bool) (err error) {
	if x.fd, err = newSocket(unix.AF_XDP, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0); err != nil {
		return os.NewSyscallError("socket", err)
	}
	if x.memory, err = mapMemory(s.bytes); err != nil {
		return err
	}
	if err := sockets.RegisterMemory(x.fd, x.memory, s.frame, stampLen); err != nil {
		return err
	}
	frames := s.bytes / s.frame
	for _, option := range []int{unix.XDP_UMEM_FILL_RING, unix.XDP_UMEM_COMPLETION_RING, unix.XDP_RX_RING} {
		slots := frames
		if option == unix.XDP_UMEM_COMPLETION_RING {
			slots = 1 // of sent frames: the kernel refuses 0
		}
		if err := unix.SetsockoptInt(x.fd, unix.SOL_XDP, option, slots); err != nil {
			return os.NewSyscallError("setsockopt", err)
		}
	}
	if err := x.mapRings(frames); err != nil {
		return err
	}
	for i := range frames {
		*x.address(uint32(i)) = uint64(i) * x.frame
	}
	atomic.StoreUint32(x.fill.Producer, uint32(frames))
	address := unix.SockaddrXDP{Flags: unix.XDP_USE_NEED_WAKEUP, Ifindex: uint32(index), QueueID: uint32(queue)}
	if copied {
		address.Flags |= unix.XDP_COPY
	}
	if s.split {
		address.Flags |= unix.XDP_USE_SG
	}
	if err := x.bind(&address); err != nil {
		return os.NewSyscallError("bind", err)
	}
	return nil
}

// bindSocket and newSocket are variables for tests of drivers that refuse, and of runs without
// privileges.
var bindSocket, newSocket = unix.Bind, unix.Socket

// bind binds the socket to its queue. The kernel frees a queue some time after the last
// socket was closed.
func (x *socket) bind(address *unix.SockaddrXDP) error {
	const timeout, pause = time.Second, 2 * time.Millisecond
	for begin := time.Now(); ; time.Sleep(pause) {
		err := bindSocket(x.fd, address)
		if err != unix.EBUSY || time.Since(begin) > timeout {
			return err
		}
	}
}

const hugePage = 2 << 20

// mapMemory returns memory in huge pages if there are any, else in ordinary pages.
func mapMemory(bytes int) ([]byte, error) {
	const protection, flags = unix.PROT_READ | unix.PROT_WRITE, unix.MAP_PRIVATE | unix.MAP_ANONYMOUS
	if bytes%hugePage == 0 {
		if memory, err := unix.Mmap(-1, 0, bytes, protection, flags|unix.MAP_HUGETLB|unix.MAP_HUGE_2MB); err == nil {
			return memory, nil
		}
	}
	memory, err := unix.Mmap(-1, 0, bytes, protection, flags)
	if err != nil {
		return nil, os.NewSyscallError("mmap", err)
	}
	_ = unix.Madvise(memory, unix.MADV_HUGEPAGE) // some kernels have none
	return memory, nil
}

func (x *socket) mapRings(slots int) error {
	var at unix.XDPMmapOffsets
	if err := sockets.XDPOption(x.fd, unix.XDP_MMAP_OFFSETS, unsafe.Pointer(&at), unsafe.Sizeof(at)); err != nil {
		return os.NewSyscallError("XDP_MMAP_OFFSETS", err)
	}
	if err := x.rx.Map(x.fd, unix.XDP_PGOFF_RX_RING, &at.Rx, slots, unsafe.Sizeof(descriptor{})); err != nil {
		return err
	}
	return x.fill.Map(x.fd, unix.XDP_UMEM_PGOFF_FILL_RING, &at.Fr, slots, unsafe.Sizeof(uint64(0)))
}

// frames is how many packets the memory holds. It is the number of slots of each ring.
func (x *socket) frames() int { return len(x.memory) / int(x.frame) }

// descriptors are the slots of the receive ring.
func (x *socket) descriptors() []descriptor {
	return unsafe.Slice((*descriptor)(x.rx.Slots), x.frames())
}

// address is a slot of the fill ring.
func (x *socket) address(i uint32) *uint64 {
	return &unsafe.Slice((*uint64)(x.fill.Slots), x.frames())[i&uint32(x.frames()-1)]
}

// received returns the index behind the last packet in the receive ring.
func (x *socket) received() uint32 { return atomic.LoadUint32(x.rx.Producer) }

// release gives the kernel the frames of all descriptors before number to.
func (x *socket) release(to uint32) {
	from, free := *x.rx.Consumer, *x.fill.Producer // nobody else writes these
	if from == to {
		return
	}
	slots, addresses := x.descriptors(), unsafe.Slice((*uint64)(x.fill.Slots), x.frames())
	mask := uint32(len(slots) - 1)
	for ; from != to; from++ {
		addresses[free&mask] = slots[from&mask].address &^ (x.frame - 1)
		free++
	}
	atomic.StoreUint32(x.fill.Producer, free)
	atomic.StoreUint32(x.rx.Consumer, to)
}

// statistics reads the kernel's counters.
func (x *socket) statistics() (s unix.XDPStatistics, err error) {
	err = sockets.XDPOption(x.fd, unix.XDP_STATISTICS, unsafe.Pointer(&s), unsafe.Sizeof(s))
	return s, err
}

// close releases everything. None of these calls fails on a valid mapping or socket.
func (x *socket) close() {
	x.rx.Unmap()
	x.fill.Unmap()
	if x.fd >= 0 {
		_ = unix.Close(x.fd)
	}
	if x.memory != nil {
		_ = unix.Munmap(x.memory)
	}
	x.fd, x.memory = -1, nil
}
