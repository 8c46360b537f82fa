// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/flowdedup/flowdedup/capture/afpacket"
)

// socket is a socket of a target, and its buffers. Only the goroutine that has claimed it uses
// its opener and buffers.
type socket struct {
	fd     int
	opener opener
	index  int  // among the sockets of the target
	raw4   bool // datagrams begin with an IPv4 header

	messages [atOnce]message
	vectors  [atOnce]unix.Iovec
	names    [atOnce]unix.RawSockaddrInet6
	controls [atOnce][controlBytes]byte
	buffers  []byte
	delay    time.Duration // of a read after few packets
	few      bool          // packets were read last, and more than none

	// Capture.mu guards them.
	claimed bool      // somebody reads
	ready   bool      // there may be something
	drained bool      // nothing is left, after Stop
	reached time.Time // up to when datagrams were read

	mu      sync.Mutex // guards the fields below
	last    uint32     // the kernel's count, which has 32 bits
	dropped uint64
	refused bool // packets that the kernel drops from now on are no longer wanted
	closed  bool
}

// openSockets opens the sockets of a target.
func openSockets(t *Target, number int, c *Config, table *pointTable) (all []*socket, err error) {
	defer func() {
		if err != nil {
			for _, s := range all {
				s.close()
			}
		}
	}()
	once := *c // it warns
	for _, family := range families(t) {
		n := c.Sockets
		if t.Raw() {
			n = 1 // each raw socket gets all datagrams
		}
		if err := tryPort(t, family, n, c); err != nil {
			return all, fmt.Errorf("%s: %w", t.name, err)
		}
		for range n {
			fd, err := openSocket(t, family, &once, n > 1)
			once.Warn = nil
			if errors.Is(err, unix.EAFNOSUPPORT) && len(all) > 0 {
				break // a system without IPv6
			}
			if err != nil {
				return all, fmt.Errorf("%s: %w", t.name, err)
			}
			s := &socket{fd: fd, index: len(all), raw4: t.Raw() && family == unix.AF_INET}
			s.opener = opener{target: t, number: number, table: table}
			s.prepare()
			s.delay = delayOf(fd, c)
			all = append(all, s)
		}
	}
	return all, nil
}

// families returns the families of the sockets of a target. One socket of IPv6 takes datagrams
// of both, except for GRE.
func families(t *Target) []int {
	switch {
	case t.host.Addr().Is4():
		return []int{unix.AF_INET}
	case !t.host.Addr().IsUnspecified():
		return []int{unix.AF_INET6}
	case t.Raw() || !hasIPv6():
		return []int{unix.AF_INET, unix.AF_INET6}[:1+btoi(hasIPv6())]
	}
	return []int{unix.AF_INET6}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// hasIPv6 reports whether the system has IPv6 sockets.
func hasIPv6() bool {
	fd, err := unix.Socket(unix.AF_INET6, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		_ = unix.Close(fd) // it was only tried
	}
	return err == nil
}

// tryPort returns an error if a program has the port, which would not notice that its datagrams
// are shared.
func tryPort(t *Target, family, sockets int, c *Config) error {
	if sockets == 1 {
		return nil
	}
	quiet := *c
	quiet.Warn = nil
	fd, err := openSocket(t, family, &quiet, false)
	if err == nil {
		_ = unix.Close(fd) // it was only tried
	}
	return err
}

func openSocket(t *Target, family int, c *Config, shared bool) (int, error) {
	kind, proto := unix.SOCK_DGRAM, 0
	if t.Raw() {
		kind, proto = unix.SOCK_RAW, unix.IPPROTO_GRE
	}
	fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, proto)
	if err == nil {
		if err = set(fd, t, family, c, shared); err == nil {
			return fd, nil
		}
		_ = unix.Close(fd) // the first error is reported
	}
	switch {
	case errors.Is(err, unix.EPERM):
		return -1, ErrNotPermitted
	case errors.Is(err, unix.EADDRINUSE):
		return -1, ErrInUse
	}
	return -1, err
}

// set sets up a socket, and binds it.
func set(fd int, t *Target, family int, c *Config, shared bool) error {
	if err := setBuffer(fd, t, c); err != nil {
		return err
	}
	options := []struct {
		name          string
		level, option int
		value         int
		optional      bool
	}{
		{"SO_TIMESTAMPNS", unix.SOL_SOCKET, unix.SO_TIMESTAMPNS_NEW, 1, false},
		{"IPV6_V6ONLY", unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 0, t.Raw()},
		{"SO_REUSEPORT", unix.SOL_SOCKET, unix.SO_REUSEPORT, btoi(shared), false},
		{"UDP_GRO", unix.SOL_UDP, unix.UDP_GRO, 1, true},
		// Tunnels over IPv6 may leave out the checksum (RFC 6935).
		{"UDP_NO_CHECK6_RX", unix.SOL_UDP, unix.UDP_NO_CHECK6_RX, 1, true},
	}
	for _, o := range options {
		if o.level == unix.SOL_UDP && t.Raw() || o.level == unix.IPPROTO_IPV6 && family != unix.AF_INET6 {
			continue
		}
		if err := unix.SetsockoptInt(fd, o.level, o.option, o.value); err != nil && !o.optional {
			return os.NewSyscallError(o.name, err)
		}
	}
	return bind(fd, t, family)
}

func bind(fd int, t *Target, family int) error {
	host := t.host.Addr()
	var err error
	if family == unix.AF_INET {
		at := unix.SockaddrInet4{Port: int(t.host.Port())}
		if host.Is4() {
			at.Addr = host.As4()
		}
		err = unix.Bind(fd, &at)
	} else {
		err = unix.Bind(fd, &unix.SockaddrInet6{Port: int(t.host.Port()), Addr: host.As16()})
	}
	return os.NewSyscallError("bind", err)
}

// setBuffer sets the memory for waiting datagrams.
func setBuffer(fd int, t *Target, c *Config) error {
	if unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, c.BufferBytes) == nil {
		return nil
	}
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, c.BufferBytes); err != nil {
		return os.NewSyscallError("SO_RCVBUF", err)
	}
	got, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF)
	if err == nil && got/2 < c.BufferBytes && c.Warn != nil {
		c.Warn(fmt.Errorf("%s: the buffer has %d KiB, not %d: sysctl -w net.core.rmem_max=%d, or give the program CAP_NET_ADMIN",
			t.name, got/2>>10, c.BufferBytes>>10, c.BufferBytes))
	}
	return nil
}

// delayOf returns how long packets may gather in a socket: less than asked if it holds less.
func delayOf(fd int, c *Config) time.Duration {
	got, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF)
	if err != nil {
		return 0
	}
	return c.Delay * time.Duration(min(got/2, c.BufferBytes)) / time.Duration(c.BufferBytes)
}

// prepare points the messages at their buffers.
func (s *socket) prepare() {
	s.buffers = make([]byte, atOnce*stride)
	for i := range s.messages {
		h := &s.messages[i].head
		s.vectors[i].Base = &s.buffers[i*stride]
		s.vectors[i].SetLen(maxDatagram)
		h.Iov, h.Control = &s.vectors[i], &s.controls[i][0]
		h.SetIovlen(1)
		if s.opener.target.kind.layer == 0 {
			h.Name = (*byte)(unsafe.Pointer(&s.names[i]))
		}
	}
}

// refuse lets no more datagrams in. The kernel counts these as dropped, which they are not.
func (s *socket) refuse() error {
	defer func() {
		s.stats()
		s.mu.Lock()
		s.refused = true
		s.mu.Unlock()
	}()
	program, err := bpf.Assemble([]bpf.Instruction{bpf.RetConstant{Val: 0}})
	if err != nil {
		return err
	}
	nothing := unix.SockFilter{Code: program[0].Op, K: program[0].K}
	return unix.SetsockoptSockFprog(s.fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{Len: 1, Filter: &nothing})
}

// memInfo are the values of SO_MEMINFO (linux/sock_diag.h), of which the last is how many
// datagrams the socket dropped. It is the count of SO_RXQ_OVFL, but needs no datagram to
// come with.
type memInfo [9]uint32

const memInfoDrops = 8

// stats returns the counts of the socket.
func (s *socket) stats() afpacket.Stats {
	s.mu.Lock()
	if !s.closed && !s.refused {
		var m memInfo
		size := uint32(unsafe.Sizeof(m))
		_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(s.fd), unix.SOL_SOCKET, unix.SO_MEMINFO,
			uintptr(unsafe.Pointer(&m)), uintptr(unsafe.Pointer(&size)), 0)
		if errno == 0 {
			s.dropped += uint64(m[memInfoDrops] - s.last)
			s.last = m[memInfoDrops]
		}
	}
	dropped := s.dropped
	s.mu.Unlock()
	c := &s.opener.counts
	return afpacket.Stats{
		Interface: s.opener.target.name, Ring: s.index, Received: c.datagrams.Load() + dropped, Dropped: dropped,
		Delivered: c.packets.Load(), Truncated: c.truncated.Load(),
	}
}

// close closes the socket, after its last counts.
func (s *socket) close() {
	s.stats()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.closed = true
		_ = unix.Close(s.fd) // it was only read
	}
}
