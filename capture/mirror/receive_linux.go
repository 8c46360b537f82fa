// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"os"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/flowdedup/flowdedup/capture"
)

const (
	// atOnce is how many datagrams a system call takes.
	atOnce = 32
	// maxDatagram is the longest payload of UDP, and of datagrams that the kernel coalesced.
	maxDatagram = 64 << 10
	// stride is the distance of buffers: not a power of two, so that the beginnings of all
	// do not share a set of a cache.
	stride = maxDatagram + 5*64
	// controlBytes has room for a time and the size of coalesced datagrams.
	controlBytes = 128
)

// A batch is full at either limit, as with a ring.
const (
	batchPackets = 2 << 10
	batchBytes   = 256 << 10
)

// message is struct mmsghdr.
type message struct {
	head unix.Msghdr
	size uint32
}

// receive takes datagrams, up to atOnce, without waiting. So it hides the system call from the
// runtime, which would wake up a thread to watch it.
func (s *socket) receive() (int, error) {
	for i := range s.messages {
		h := &s.messages[i].head
		h.SetControllen(controlBytes)
		h.Namelen = unix.SizeofSockaddrInet6
	}
	for {
		n, _, errno := unix.RawSyscall6(unix.SYS_RECVMMSG, uintptr(s.fd), uintptr(unsafe.Pointer(&s.messages)), atOnce, unix.MSG_DONTWAIT, 0, 0)
		switch errno {
		case 0:
			return int(n), nil
		case unix.EAGAIN:
			return 0, nil
		case unix.EINTR:
			continue
		}
		return 0, fmt.Errorf("%s: %w", s.opener.target.name, os.NewSyscallError("recvmmsg", errno))
	}
}

// read fills a batch. It reports whether there may be more.
func (s *socket) read(b *capture.Batch) (more bool, err error) {
	datagrams, before := 0, len(b.Frames)
	defer func() {
		s.opener.counts.datagrams.Add(uint64(datagrams))
		s.opener.counts.packets.Add(uint64(len(b.Frames) - before))
	}()
	for range batchPackets / atOnce { // datagrams without packets come to an end, too
		n, err := s.receive()
		if err != nil {
			return false, err
		}
		for i := range n {
			datagrams += s.take(b, i)
		}
		if n < atOnce {
			return false, nil
		}
		if len(b.Frames) >= batchPackets || len(b.Buf) >= batchBytes {
			break
		}
	}
	return true, nil
}

// take takes the packets out of a message, and returns how many datagrams it was.
func (s *socket) take(b *capture.Batch, i int) (datagrams int) {
	m := &s.messages[i]
	data := s.buffers[i*stride : i*stride+min(int(m.size), maxDatagram)]
	c := parseControl(s.controls[i][:min(int(m.head.Controllen), controlBytes)])
	if c.time == 0 {
		c.time = time.Now().UnixNano()
	}
	if s.raw4 {
		data = behindIPv4(data)
	}
	from := s.sender(i)
	if c.segment <= 0 {
		c.segment = len(data)
	}
	for {
		n := min(c.segment, len(data))
		s.opener.open(b, data[:n:n], from, c.time)
		datagrams++
		if data = data[n:]; len(data) == 0 {
			return datagrams
		}
	}
}

// sender returns where a message came from, if that is asked for.
func (s *socket) sender(i int) netip.AddrPort {
	if s.messages[i].head.Name == nil {
		return netip.AddrPort{}
	}
	name := &s.names[i]
	port := binary.BigEndian.Uint16((*[2]byte)(unsafe.Pointer(&name.Port))[:])
	if name.Family == unix.AF_INET {
		return netip.AddrPortFrom(netip.AddrFrom4((*unix.RawSockaddrInet4)(unsafe.Pointer(name)).Addr), port)
	}
	return netip.AddrPortFrom(netip.AddrFrom16(name.Addr).Unmap(), port)
}

// behindIPv4 returns the payload of a datagram, nil if its header is damaged.
func behindIPv4(d []byte) []byte {
	if len(d) < 20 {
		return nil
	}
	return d[min(int(d[0]&15)*4, len(d)):]
}

// control is the kernel's metadata of a message.
type control struct {
	time    int64 // nanoseconds since 1970, 0 if it does not say
	segment int   // the size of the datagrams that were coalesced; 0 if none were
}

// parseControl reads control messages.
func parseControl(p []byte) (c control) {
	head := unix.CmsgLen(0)
	for len(p) >= head {
		h := (*unix.Cmsghdr)(unsafe.Pointer(&p[0]))
		size := int(h.Len)
		if size < head || size > len(p) {
			return c
		}
		data := p[head:size]
		switch {
		case h.Level == unix.SOL_SOCKET && h.Type == unix.SO_TIMESTAMPNS_NEW && len(data) >= 16:
			c.time = *(*int64)(unsafe.Pointer(&data[0]))*1e9 + *(*int64)(unsafe.Pointer(&data[8]))
		case h.Level == unix.SOL_UDP && h.Type == unix.UDP_GRO && len(data) >= 4:
			c.segment = int(*(*int32)(unsafe.Pointer(&data[0])))
		}
		p = p[min(unix.CmsgSpace(size-head), len(p)):]
	}
	return c
}

// Silent reports whether a Next waits, and no socket has anything for it: all that came
// before the call was delivered. Any goroutine may call it at any time.
func (c *Capture) Silent() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.asked || c.stopping {
		return false
	}
	for _, s := range c.sockets {
		one := [1]unix.PollFd{{Fd: int32(s.fd), Events: unix.POLLIN}}
		if n, err := unix.Poll(one[:], 0); s.claimed || n != 0 || err != nil {
			return false
		}
	}
	return true
}
