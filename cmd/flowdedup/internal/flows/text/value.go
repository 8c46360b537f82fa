// SPDX-License-Identifier: Apache-2.0

package text

import (
	"bytes"
	"math"
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
	i := 0
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
	scale := uint64(1e8)
	for ; at < len(v) && isDigit(v[at]); at++ {
		fraction += uint64(v[at]-'0') * scale
		scale /= 10
		digits++
	}
	return fraction, digits, at
}

// exponent reads numbers such as 1.7e+09.
func exponent(v []byte) (whole, fraction uint64, digits int, ok bool) {
	f, err := strconv.ParseFloat(str(v), 64)
	if err != nil || !(f >= 0 && f < 1e19) {
		return 0, 0, 0, false
	}
	w, rest := math.Modf(f)
	return uint64(w), uint64(rest * 1e9), 6, true
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// number reads an unsigned integer of at most most. Its fraction does not count.
func number(v []byte, most uint64) (n uint64, ok bool) {
	for i, c := range v[:min(len(v), 19)] { // 19 digits fit
		if !isDigit(c) {
			break
		}
		if n = n*10 + uint64(c-'0'); i == len(v)-1 {
			if n > most {
				return 0, false
			}
			return n, true
		}
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

// address reads an IP address, the zero Addr if it is none. One with a zone is none: the
// zone would be kept for ever.
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

// dotted reads an IPv4 address, as netip.ParseAddr does.
func dotted(v []byte) (netip.Addr, bool) {
	var a [4]byte
	part, digits, n := 0, 0, 0
	for _, c := range v {
		switch {
		case isDigit(c) && (part > 0 || digits == 0):
			part = part*10 + int(c-'0')
			digits++
		case c == '.' && digits > 0 && n < 3:
			a[n] = byte(part)
			part, digits, n = 0, 0, n+1
		default:
			return netip.Addr{}, false
		}
		if part > math.MaxUint8 {
			return netip.Addr{}, false
		}
	}
	a[3] = byte(part)
	return netip.AddrFrom4(a), n == 3 && digits > 0
}

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
