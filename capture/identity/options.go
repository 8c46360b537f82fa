// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"encoding/binary"
	"strings"

	"github.com/flowdedup/flowdedup/capture/internal/iana"
)

// The kinds of options that are looked for, as sets of bytes.
const (
	sackOption = "\x05" // RFC 2018
	mssOption  = "\x02" // RFC 9293, section 3.2
	// writtenOptions are the options of IPv4 that routers write into (RFC 4302, appendix A1): record
	// route, timestamp, traceroute, loose and strict source route.
	writtenOptions = "\x07\x44\x52\x83\x89"
)

// nextOption returns the offset and the size of the next option of some kinds in a header of IPv4 or
// TCP, from the option at an offset on. The size is 0 if there is none.
func nextOption(header []byte, option int, kinds string) (at, n int) {
	const endOfList, noOperation = 0, 1
	for o := option; o+2 <= len(header) && header[o] != endOfList; {
		if header[o] == noOperation {
			o++
			continue
		}
		n := int(header[o+1])
		if n < 2 || o+n > len(header) {
			break
		}
		if strings.IndexByte(kinds, header[o]) >= 0 {
			return o, n
		}
		o += n
	}
	return 0, 0
}

// dropOptions leaves out the content of options of some kinds in the header at an offset of
// Batch.Buf. start is where options begin in it.
func dropOptions(e *eraser, header []byte, at uint32, start int, kinds string) {
	for o, n := nextOption(header, start, kinds); n > 0; o, n = nextOption(header, o+n, kinds) {
		e.drop(at+uint32(o)+2, uint32(n)-2, 0xff)
	}
}

// tcpOptions is the offset of the options in a TCP header.
const tcpOptions = 20

// headerOf returns the captured part of the header of a TCP segment.
func headerOf(tcp []byte) []byte {
	if len(tcp) <= tcpOptions {
		return tcp
	}
	return tcp[:min(max(int(tcp[12]>>4)*4, tcpOptions), len(tcp))]
}

// sumFields are fields that a checksum over the payload covers. Without them, its value does not count.
const sumFields = L4Checksum | TCPSeq | NAT | MSS | TCPHeader

// isOpening reports whether a segment has SYN, so that it may state a maximum segment size.
func isOpening(tcp []byte) bool { return len(tcp) > 13 && tcp[13]&2 != 0 }

// MSSOf returns the maximum segment size that a TCP segment states, 0 if it has none or no SYN.
func MSSOf(tcp []byte) uint16 {
	const size = 4 // RFC 9293, section 3.7.1
	if !isOpening(tcp) {
		return 0
	}
	at, n := nextOption(headerOf(tcp), tcpOptions, mssOption)
	if n != size {
		return 0
	}
	return binary.BigEndian.Uint16(tcp[at+2:])
}

// leavesSum reports whether the checksum of a TCP segment does not count, as fields do not that a
// middlebox changes.
func (f Fields) leavesSum(tcp []byte) bool {
	return f&(TCPSeq|TCPHeader) != 0 || f&MSS != 0 && isOpening(tcp)
}

// dropTCP leaves out fields of a TCP header, but ports and checksum.
func (g *Identity) dropTCP(e *eraser, d *datagram, buf []byte) {
	const numbers, window = 4, 14
	header := headerOf(d.above(buf))
	if g.ignore&TCPSeq != 0 {
		e.drop(d.upper+numbers, 8, 0xff)
		dropOptions(e, header, d.upper, tcpOptions, sackOption)
	}
	if g.ignore&MSS != 0 && isOpening(header) {
		dropOptions(e, header, d.upper, tcpOptions, mssOption)
	}
	if g.ignore&TCPHeader != 0 {
		e.drop(d.upper+12, 1, 0x0f) // bits that were reserved (RFC 3540)
		e.drop(d.upper+13, 1, 0xe0) // CWR, ECE, URG
		e.drop(d.upper+window, uint32(max(len(header), tcpOptions))-window, 0xff)
	}
}

// variesWith reports whether options say which bytes of d count, so that the places of its headers do
// not.
func (g *Identity) variesWith(d *datagram) bool {
	if g.ignore&IPOptions != 0 && isWritten(d, g.out.buf) {
		return true
	}
	if g.ignore&(TCPSeq|MSS|TCPHeader) == 0 || d.proto != iana.ProtoTCP || d.upper == 0 {
		return false
	}
	tcp := d.above(g.out.buf)
	if g.ignore&TCPHeader != 0 && len(headerOf(tcp)) > tcpOptions || g.ignore&MSS != 0 && isOpening(tcp) {
		return true
	}
	_, n := nextOption(headerOf(tcp), tcpOptions, sackOption)
	return g.ignore&TCPSeq != 0 && n > 0
}

// isUsual reports whether the TCP header at an offset of buf is of a usual kind without options that
// matter: without options, or with timestamps only, laid out as RFC 7323, appendix A, has them. end
// is where the segment ends.
func (f Fields) isUsual(buf []byte, at, end uint32) bool {
	const timestamps, stamped = 0x0101080a, tcpOptions + 12
	if at+tcpOptions > end {
		return false
	}
	tcp := buf[at:end]
	if f&MSS != 0 && isOpening(tcp) {
		return false
	}
	size := int(tcp[12]>>4) * 4
	return size <= tcpOptions || f&TCPHeader == 0 && size == stamped && len(tcp) >= stamped && binary.BigEndian.Uint32(tcp[tcpOptions:]) == timestamps
}

// isWritten reports whether a datagram has headers of IP in which routers may write.
func isWritten(d *datagram, buf []byte) bool {
	if d.version == 4 {
		return buf[d.ip]&15 > 5
	}
	return hasOptions(buf[d.ip+6])
}

// hasOptions reports whether an IPv6 extension header has options or is a routing header.
func hasOptions(proto uint8) bool {
	return proto == iana.ProtoHopByHop || proto == iana.ProtoRouting || proto == iana.ProtoDstOpts
}

// dropWritten leaves out what routers write into options and routing headers: the content of mutable
// options (RFC 4302; in IPv6 their type says so: RFC 8200, section 4.2), and the segments left of
// segment routing (RFC 8754).
func dropWritten(e *eraser, d *datagram, buf []byte) {
	const segmentRouting, mayChange = 4, 0x20
	ip := buf[d.ip:d.end]
	if d.version == 4 {
		dropOptions(e, ip[:min(int(ip[0]&15)*4, len(ip))], d.ip, 20, writtenOptions)
		return
	}
	for proto, at := ip[6], 40; hasOptions(proto) && at+8 <= len(ip); {
		end := min(at+8*(1+int(ip[at+1])), len(ip))
		if proto == iana.ProtoRouting && ip[at+2] == segmentRouting {
			e.drop(d.ip+uint32(at)+3, 1, 0xff)
		}
		for o := at + 2; proto != iana.ProtoRouting && o+2 <= end; {
			if ip[o] == 0 {
				o++ // a single byte of padding
				continue
			}
			next := o + 2 + int(ip[o+1])
			if ip[o]&mayChange != 0 && next <= end {
				e.drop(d.ip+uint32(o)+2, uint32(ip[o+1]), 0xff)
			}
			o = next
		}
		proto, at = ip[at], end
	}
}
