// SPDX-License-Identifier: Apache-2.0

// Package fragments reads fragments of IP datagrams, and puts them together (RFC 791, RFC 815,
// RFC 8200 section 4.5).
package fragments

import (
	"encoding/binary"
	"net/netip"
)

// Key identifies the fragments of a datagram.
type Key struct {
	Source, Destination netip.Addr
	ID                  uint32
	Protocol            uint8
}

// Fragment is a fragment.
type Fragment struct {
	Key     Key
	Offset  int    // of its payload in the payload of the datagram
	Size    int    // bytes of its payload, by its header
	More    bool   // more fragments follow
	Payload []byte // as far as it was captured
	Head    int    // bytes before its payload
	// next is where IPv6 announces the fragment header.
	next int
}

// Parse reads the headers of a fragment, from the IP header on. It returns false if there is
// none, or if its headers were truncated.
func Parse(ip []byte) (f Fragment, ok bool) {
	size := 0
	switch {
	case len(ip) >= 20 && ip[0]>>4 == 4:
		size, ok = f.parse4(ip)
	case len(ip) >= 40 && ip[0]>>4 == 6:
		size, ok = f.parse6(ip)
	}
	if !ok || size < f.Head || len(ip) < f.Head {
		return f, false
	}
	f.Size, f.Payload = size-f.Head, ip[f.Head:min(size, len(ip))]
	return f, true
}

// parse4 returns the length of the fragment.
func (f *Fragment) parse4(ip []byte) (size int, ok bool) {
	f.Head, size = int(ip[0]&15)*4, int(binary.BigEndian.Uint16(ip[2:]))
	field := binary.BigEndian.Uint16(ip[6:])
	f.Key = Key{netip.AddrFrom4([4]byte(ip[12:])), netip.AddrFrom4([4]byte(ip[16:])), uint32(binary.BigEndian.Uint16(ip[4:])), ip[9]}
	f.Offset, f.More = int(field&0x1fff)*8, field&0x2000 != 0
	return size, f.Head >= 20
}

const fragmentHead = 8

// parse6 finds the fragment header behind the headers that each fragment has. It returns the length
// of the fragment.
func (f *Fragment) parse6(ip []byte) (size int, ok bool) {
	const hopByHop, routing, fragment, options = 0, 43, 44, 60
	f.next = 6
	for at := 40; at+fragmentHead <= len(ip); {
		switch ip[f.next] {
		case hopByHop, routing, options:
			f.next, at = at, at+8*(int(ip[at+1])+1)
			continue
		case fragment:
			field := binary.BigEndian.Uint16(ip[at+2:])
			f.Key = Key{netip.AddrFrom16([16]byte(ip[8:])), netip.AddrFrom16([16]byte(ip[24:])), binary.BigEndian.Uint32(ip[at+4:]), ip[at]}
			f.Offset, f.More, f.Head = int(field&^7), field&1 != 0, at+fragmentHead
			return 40 + int(binary.BigEndian.Uint16(ip[4:])), true
		}
		break
	}
	return 0, false
}

// AppendHeader appends the IP header of the whole datagram, whose payload has size bytes. ip begins
// with its first fragment, f.
func (f *Fragment) AppendHeader(to, ip []byte, size int) []byte {
	at := len(to)
	if f.next > 0 {
		to = append(to, ip[:f.Head-fragmentHead]...)
		to[at+f.next] = f.Key.Protocol
		binary.BigEndian.PutUint16(to[at+4:], uint16(f.Head-fragmentHead-40+size))
		return to
	}
	const fragmented = 0x3fff
	to = append(to, ip[:f.Head]...)
	head := to[at:]
	binary.BigEndian.PutUint16(head[2:], uint16(f.Head+size))
	binary.BigEndian.PutUint16(head[6:], binary.BigEndian.Uint16(head[6:])&^fragmented)
	binary.BigEndian.PutUint16(head[10:], 0)
	binary.BigEndian.PutUint16(head[10:], ^Sum(head))
	return to
}

// Sum returns the one's complement sum of the words of p (RFC 1071), whose length is even.
func Sum(p []byte) uint16 {
	sum := uint64(0)
	for ; len(p) >= 2; p = p[2:] {
		sum += uint64(binary.BigEndian.Uint16(p))
	}
	for sum>>16 != 0 {
		sum = sum>>16 + sum&0xffff
	}
	return uint16(sum)
}
