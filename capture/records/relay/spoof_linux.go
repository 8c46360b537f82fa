// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// spoofer sends datagrams with the addresses of others. The kernel makes the IP header and
// fragments long datagrams. The UDP header is made here, as it has the sender's port.
type spoofer struct {
	fd      int
	to      netip.AddrPort
	address unix.Sockaddr
	control []byte
	source  []byte // the sender's address in control
	packet  []byte
}

func newSpoofer(to netip.AddrPort) (*spoofer, error) {
	s := &spoofer{to: netip.AddrPortFrom(to.Addr().Unmap(), to.Port())}
	family, level, option := unix.AF_INET, unix.SOL_IP, unix.IP_TRANSPARENT
	if s.to.Addr().Is6() {
		family, level, option = unix.AF_INET6, unix.SOL_IPV6, unix.IPV6_TRANSPARENT
	}
	fd, err := unix.Socket(family, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.IPPROTO_UDP)
	if err == nil {
		s.fd = fd
		if err = s.setUp(level, option); err != nil {
			s.close()
		}
	}
	switch {
	case errors.Is(err, unix.EPERM):
		return nil, ErrNotPermitted
	case err != nil:
		return nil, os.NewSyscallError("raw socket", err)
	}
	if family == unix.AF_INET {
		s.address = &unix.SockaddrInet4{Addr: s.to.Addr().As4()}
		s.control = unix.PktInfo4(&unix.Inet4Pktinfo{})
		at := unix.CmsgLen(0) + int(unsafe.Offsetof(unix.Inet4Pktinfo{}.Spec_dst))
		s.source = s.control[at : at+4]
		return s, nil
	}
	s.address = &unix.SockaddrInet6{Addr: s.to.Addr().As16()}
	s.control = unix.PktInfo6(&unix.Inet6Pktinfo{})
	at := unix.CmsgLen(0) + int(unsafe.Offsetof(unix.Inet6Pktinfo{}.Addr))
	s.source = s.control[at : at+16]
	return s, nil
}

// setUp lets the socket send from any address, and receive nothing: a raw socket would get
// a copy of each UDP datagram that comes.
func (s *spoofer) setUp(level, option int) error {
	nothing := unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K}
	program := &unix.SockFprog{Len: 1, Filter: &nothing}
	if err := unix.SetsockoptSockFprog(s.fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, program); err != nil {
		return err
	}
	return unix.SetsockoptInt(s.fd, level, option, 1)
}

// can reports whether datagrams can be sent from an address.
func (s *spoofer) can(from netip.AddrPort) bool {
	return from.Addr().IsValid() && from.Addr().Is4() == s.to.Addr().Is4()
}

func (s *spoofer) send(from netip.AddrPort, message []byte) error {
	const head, maxPayload = 8, 65535 - 8
	if len(message) > maxPayload {
		return unix.EMSGSIZE
	}
	copy(s.source, from.Addr().AsSlice())
	p := append(s.packet[:0], make([]byte, head)...)
	binary.BigEndian.PutUint16(p, from.Port())
	binary.BigEndian.PutUint16(p[2:], s.to.Port())
	binary.BigEndian.PutUint16(p[4:], uint16(head+len(message)))
	p = append(p, message...)
	binary.BigEndian.PutUint16(p[6:], checksum(from.Addr(), s.to.Addr(), p))
	s.packet = p
	_, err := unix.SendmsgN(s.fd, p, s.control, s.address, 0)
	return err
}

// checksum returns the checksum of a UDP datagram (RFC 768; RFC 8200, section 8.1).
func checksum(from, to netip.Addr, p []byte) uint16 {
	const udp = 17
	sum := uint64(udp) + uint64(len(p))
	add := func(b []byte) {
		for ; len(b) >= 2; b = b[2:] {
			sum += uint64(b[0])<<8 | uint64(b[1])
		}
		if len(b) == 1 {
			sum += uint64(b[0]) << 8
		}
	}
	add(from.AsSlice())
	add(to.AsSlice())
	add(p)
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	if sum == 0xffff {
		return 0xffff // 0 says that there is none
	}
	return ^uint16(sum)
}

func (s *spoofer) close() {
	_ = unix.Close(s.fd) // it has nothing left to send
}
