// SPDX-License-Identifier: Apache-2.0

package text

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/bits"
	"net/netip"
	"strconv"
	"time"
	"unsafe"
)

// str returns bytes as a string that does not outlive them.
func str(v []byte) string { return unsafe.String(unsafe.SliceData(v), len(v)) }

// decimal reads digits with or without a fraction, and returns both: the fraction in
// 1/10^9. It reports how many digits the fraction had.
func decimal(v []byte) (whole, fraction uint64, digits int, ok bool) {
	whole, i := eight(v)
	for ; i < len(v) && isDigit(v[i]); i++ {
		if whole > math.MaxUint64/10-1 {
			return 0, 0, 0, false
		}
		whole = whole*10 + uint64(v[i]-'0')
	}
	if i == 0 {
		return 0, 0, 0, false
	}
	if i == len(v) {
		return whole, 0, 0, true
	}
	if v[i] != '.' {
		return exponent(v)
	}
	fraction, digits, i = billionths(v, i+1)
	if i < len(v) {
		return exponent(v)
	}
	return whole, fraction, digits, true
}

// billionths reads the digits of a fraction from v[at] on, and returns where they end.
func billionths(v []byte, at int) (fraction uint64, digits, end int) {
	fraction, digits = eight(v[at:])
	scale := powers[8-digits]
	fraction *= 10 * scale
	for at += digits; at < len(v) && isDigit(v[at]); at++ {
		fraction += uint64(v[at]-'0') * scale
		scale /= 10
		digits++
	}
	return fraction, digits, at
}

// powers are the powers of ten.
var powers = [9]uint64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8}

// exponent reads numbers such as 1.7e+09.
func exponent(v []byte) (whole, fraction uint64, digits int, ok bool) {
	f, err := strconv.ParseFloat(str(v), 64)
	if err != nil || !(f >= 0 && f < 1e19) {
		return 0, 0, 0, false
	}
	w, rest := math.Modf(f)
	return uint64(w), uint64(rest * 1e9), 6, true
}

// eight reads the digits that v begins with, at most eight, and returns how many there are. It looks
// at eight bytes at once, whatever lies behind v. Of less memory than that it reads none.
//
//	v        '1' '2' '3' '4' ',' ...          from the lowest byte on
//	x         1   2   3   4   ..              less '0'; any other byte has a bit in others
//	x         0   0   0   0   1   2   3   4   shifted, so that zeros precede the digits
//	x         0   .   0   .  12   .  34   .   10*byte + next byte, in every second byte
//
// Two multiplications add the pairs, times 10^6, 10^4, 100 and 1, in the upper half of a word.
func eight(v []byte) (n uint64, digits int) {
	const ones, low = 0x0101010101010101, 0x7f7f7f7f7f7f7f7f
	if cap(v) < 8 {
		return 0, 0
	}
	x := binary.LittleEndian.Uint64(v[:8]) ^ ones*'0'
	others := ((x & low) + ones*(0x7f-9) | x) &^ low // bytes that are no digits have a bit
	digits = min(bits.TrailingZeros64(others)/8, len(v))
	x <<= 64 - 8*digits // zeros in front of them
	x = x*10 + x>>8     // pairs of digits, then all
	return (x&0xff000000ff*0xf424000000064 + x>>16&0xff000000ff*0x271000000001) >> 32, digits
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// number reads an unsigned integer of at most most. Its fraction does not count.
func number(v []byte, most uint64) (n uint64, ok bool) {
	if n, digits := eight(v); digits == len(v) && digits > 0 && n <= most {
		return n, true
	}
	if len(v) > 2 && v[0] == '0' && v[1] == 'x' {
		return hexadecimal(v[2:], most)
	}
	if n, _, _, ok = decimal(v); !ok || n > most {
		return 0, false
	}
	return n, true
}

// digits reads an unsigned integer that has nothing but digits.
func digits(v []byte, most uint64) (uint64, bool) {
	n, _, _, ok := decimal(v)
	if !ok || n > most || !isDigit(v[len(v)-1]) || bytes.IndexByte(v, '.') >= 0 {
		return 0, false
	}
	return n, true
}

// hexadecimal reads hexadecimal digits.
func hexadecimal(v []byte, most uint64) (n uint64, ok bool) {
	for _, c := range v {
		d := uint64(0)
		switch {
		case isDigit(c):
			d = uint64(c - '0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			d = uint64(c|0x20-'a') + 10
		default:
			return 0, false
		}
		if n = n<<4 | d; n > most {
			return 0, false
		}
	}
	return n, len(v) > 0
}

// address reads an IP address, else the zero Addr. It rejects addresses with a zone, since netip
// keeps zones for ever.
func address(v []byte) netip.Addr {
	if a, ok := dotted(v); ok {
		return a
	}
	parts := 0
	for _, c := range v {
		switch {
		case c == '.' || c == ':':
			parts++
		case !isDigit(c) && (c < 'a' || c > 'f') && (c < 'A' || c > 'F'):
			return netip.Addr{} // without an error to allocate
		}
	}
	if parts == 0 {
		return netip.Addr{}
	}
	a, err := netip.ParseAddr(str(v))
	if err != nil {
		return netip.Addr{}
	}
	return a.Unmap()
}

// dotted reads an IPv4 address, as netip.ParseAddr does, if there are bytes behind it.
//
//	v     1 0 . 0 . 2 . 1 6
//	at    0 0 1 0 1 0 1 0 0   from the lowest bit on; a, b and c are the places of the dots
//
// gather multiplies the lowest bits of eight bytes into the highest byte.
func dotted(v []byte) (netip.Addr, bool) {
	const dots, low, gather = 0x2e2e2e2e2e2e2e2e, 0x7f7f7f7f7f7f7f7f, 0x0102040810204080
	if len(v) > 15 || cap(v) < 20 {
		return netip.Addr{}, false
	}
	p := (*[20]byte)(v[:20])
	x, y := binary.LittleEndian.Uint64(p[:])^dots, binary.LittleEndian.Uint64(p[8:])^dots
	x, y = ^(x&low+low|x|low)>>7*gather>>56, ^(y&low+low|y|low)>>7*gather>>56
	at := (x | y<<8) & (1<<len(v) - 1) // a bit for each dot
	second := at & (at - 1)
	third := second & (second - 1)
	a, b, c := uint(bits.TrailingZeros64(at)), uint(bits.TrailingZeros64(second)), uint(bits.TrailingZeros64(third))
	if third&(third-1) != 0 || a-1 > 2 || b-a-2 > 2 || c-b-2 > 2 || uint(len(v))-c-2 > 2 {
		return netip.Addr{}, false
	}
	first, ok := twoParts(p, 0, a, b)
	last, fine := twoParts(p, b+1, c, uint(len(v)))
	var ip [4]byte
	binary.LittleEndian.PutUint32(ip[:], first|last<<16)
	return netip.AddrFrom4(ip), ok && fine
}

// twoParts reads the part of an address between two places, and the part behind its dot. Each has
// half of a word, whose highest byte is the last digit:
//
//	x         0 0 1 0 | 0 1 6 8    of "10.168", from the lowest byte on
//	n        10       | 168        last + 10*middle + 100*first
//	enough   no digit 0 in front: n is at least 10 of two digits, 100 of three
func twoParts(p *[20]byte, begin, dot, end uint) (uint32, bool) {
	const ones, low, high = 0x100000001, 0x7f7f7f7f7f7f7f7f, 0x8000000080000000
	first, second := dot-begin, end-dot-1 // digits
	x := uint64((binary.LittleEndian.Uint32(p[begin&15:]) ^ 0x30303030) << ((32 - 8*first) & 31))
	x |= uint64((binary.LittleEndian.Uint32(p[(dot+1)&15:])^0x30303030)<<((32-8*second)&31)) << 32
	others := (x&low + 0x7676767676767676 | x) &^ low // bytes that are no digits have a bit
	n := x>>24&(ones*0xff) + x>>16&(ones*0xff)*10 + x>>8&(ones*0xff)*100
	enough := (n | high) - (least[first&3] | least[second&3]<<32) // its highest bits stay if there is no 0 in front
	return uint32(n|n>>24) & 0xffff, others|n&^(ones*0xff)|^enough&high == 0
}

// least are the least numbers with so many digits.
var least = [4]uint64{2: 10, 3: 100}

// flagsOf reads a number, or letters as nfdump and rwcut write them.
func flagsOf(v []byte) (flags uint8, ok bool) {
	if isDigit(v[0]) {
		n, ok := number(v, math.MaxUint16)
		return uint8(n), ok
	}
	for _, c := range v {
		if flagBits[c] == 0 && c != '.' && c != ' ' {
			return 0, false
		}
		flags |= flagBits[c]
	}
	return flags, true
}

// flagBits are the flags of TCP by their letters.
var flagBits = [256]uint8{'F': 1, 'S': 2, 'R': 4, 'P': 8, 'A': 16, 'U': 32, 'E': 64, 'C': 128}

// hash names a point that has no address.
func hash(v []byte) uint32 {
	h := uint32(2166136261) // FNV-1a
	for _, c := range v {
		h = (h ^ uint32(c)) * 16777619
	}
	return h
}

// spanOf reads a duration in a unit of at most a second.
func spanOf(v []byte, unit time.Duration) (int64, bool) {
	whole, fraction, _, ok := decimal(v)
	if !ok || whole > uint64(math.MaxInt64/int64(unit))-1 {
		return 0, false
	}
	return int64(whole)*int64(unit) + int64(fraction)/int64(time.Second/unit), true
}
