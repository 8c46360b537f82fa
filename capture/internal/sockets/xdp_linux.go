// SPDX-License-Identifier: Apache-2.0

package sockets

import (
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Ring is a ring of an AF_XDP socket, in memory that is shared with the kernel. The producer of a
// ring writes slots first and then its index; the consumer reads the index first.
type Ring struct {
	Producer, Consumer *uint32
	Slots              unsafe.Pointer
	memory             []byte
}

// Map maps a ring of a socket, whose slots have the given number and size.
func (r *Ring) Map(fd int, offset int64, at *unix.XDPRingOffset, slots int, slot uintptr) (err error) {
	r.memory, err = unix.Mmap(fd, offset, int(at.Desc)+slots*int(slot), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		return os.NewSyscallError("mmap", err)
	}
	r.Producer = (*uint32)(unsafe.Pointer(&r.memory[at.Producer]))
	r.Consumer = (*uint32)(unsafe.Pointer(&r.memory[at.Consumer]))
	r.Slots = unsafe.Pointer(&r.memory[at.Desc])
	return nil
}

// Unmap releases a ring that may be mapped.
func (r *Ring) Unmap() {
	if r.memory != nil {
		_ = unix.Munmap(r.memory) // it does not fail on a mapping
	}
	*r = Ring{}
}

// RegisterMemory registers memory, which has frames of the given size, as the UMEM of an AF_XDP
// socket; the kernel pins it.
func RegisterMemory(fd int, memory []byte, frame, headroom int) error {
	request := unix.XDPUmemReg{
		Addr: uint64(uintptr(unsafe.Pointer(&memory[0]))), Len: uint64(len(memory)), Size: uint32(frame), Headroom: uint32(headroom),
	}
	raw := unsafe.Slice((*byte)(unsafe.Pointer(&request)), unsafe.Sizeof(request))
	err := unix.SetsockoptString(fd, unix.SOL_XDP, unix.XDP_UMEM_REG, string(raw))
	return os.NewSyscallError("XDP_UMEM_REG", err)
}

// XDPOption reads an option of an AF_XDP socket into a structure.
func XDPOption(fd, name int, value unsafe.Pointer, bytes uintptr) error {
	size := uint32(bytes)
	_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.SOL_XDP, uintptr(name),
		uintptr(value), uintptr(unsafe.Pointer(&size)), 0)
	switch {
	case errno != 0:
		return errno
	case uintptr(size) < bytes:
		return fmt.Errorf("%d bytes instead of %d: %w", size, bytes, unix.EOPNOTSUPP) // Linux before 5.9
	}
	return nil
}
