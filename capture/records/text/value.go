package text

import (
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

// number reads an unsigned integer. Its fraction does not count.
func number(v []byte) uint64 {
	n, _, _, _ := decimal(v)
	return n
}

// address reads an IP address, the zero Addr if it is none. One with a zone is none: the
// zone would be kept for ever.
func address(v []byte) netip.Addr {
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

// protocols are names of IP protocols, in lower case.
var protocols = map[string]uint8{
	"icmp": 1, "igmp": 2, "ipip": 4, "ipencap": 4, "tcp": 6, "udp": 17, "ipv6": 41, "rsvp": 46, "gre": 47, "esp": 50, "ah": 51,
	"icmp6": 58, "icmpv6": 58, "ipv6-icmp": 58, "eigrp": 88, "ospf": 89, "ospfigp": 89, "pim": 103, "vrrp": 112, "l2tp": 115,
	"sctp": 132, "udplite": 136,
}

// protocolOf reads a number or a name.
func protocolOf(v []byte) uint8 {
	if len(v) > 0 && isDigit(v[0]) {
		return uint8(min(number(v), math.MaxUint8))
	}
	var lower [16]byte
	n := copy(lower[:], v)
	for i, c := range lower[:n] {
		if c >= 'A' && c <= 'Z' {
			lower[i] = c + 'a' - 'A'
		}
	}
	return protocols[string(lower[:n])]
}

// flagsOf reads a number, or letters as nfdump and rwcut write them.
func flagsOf(v []byte) (flags uint8) {
	if len(v) > 0 && isDigit(v[0]) {
		if len(v) > 2 && v[0] == '0' && v[1] == 'x' {
			return hex(v[2:])
		}
		return uint8(number(v))
	}
	for _, c := range v {
		for bit, letter := range [8]byte{'F', 'S', 'R', 'P', 'A', 'U', 'E', 'C'} {
			if c == letter {
				flags |= 1 << bit
			}
		}
	}
	return flags
}

func hex(v []byte) uint8 {
	n, err := strconv.ParseUint(str(v), 16, 16)
	if err != nil {
		return 0
	}
	return uint8(n)
}

// hash names a point that has no address.
func hash(v []byte) uint32 {
	h := uint32(2166136261) // FNV-1a
	for _, c := range v {
		h = (h ^ uint32(c)) * 16777619
	}
	return h
}

// timeOf reads a time: a date, or a number since 1970 in seconds, milliseconds,
// microseconds or nanoseconds, which differ in size until the year 2255. It returns 0 if v
// is none, and the unit of its last digit.
func timeOf(v []byte) (ns int64, unit time.Duration) {
	if len(v) >= 19 && (v[4] == '-' || v[4] == '/') {
		return dateOf(v)
	}
	whole, fraction, digits, ok := decimal(v)
	switch {
	case !ok || whole > math.MaxInt64:
		return 0, 0
	case whole < 9e9:
		return int64(whole)*1e9 + int64(fraction), unitOf(digits)
	case whole < 9e12:
		return int64(whole)*1e6 + int64(fraction/1e3), time.Millisecond
	case whole < 9e15:
		return int64(whole) * 1e3, time.Microsecond
	}
	return int64(whole), time.Nanosecond
}

// unitOf returns the unit of so many digits after the seconds.
func unitOf(digits int) time.Duration {
	switch {
	case digits == 0:
		return time.Second
	case digits <= 3:
		return time.Millisecond
	case digits <= 6:
		return time.Microsecond
	}
	return time.Nanosecond
}

// dateOf reads 2006-01-02T15:04:05.999Z, with what programs put in place of the signs. A time
// without a zone is UTC.
func dateOf(v []byte) (ns int64, unit time.Duration) {
	pair := func(at int) int { return int(v[at]-'0')*10 + int(v[at+1]-'0') }
	for i, c := range []byte("dddd-dd-ddTdd:dd:dd") {
		if isDigit(v[i]) != (c == 'd') {
			return 0, 0
		}
	}
	at := time.Date(pair(0)*100+pair(2), time.Month(pair(5)), pair(8), pair(11), pair(14), pair(17), 0, time.UTC)
	rest, fraction, digits := v[19:], uint64(0), 0
	if len(rest) > 0 && (rest[0] == '.' || rest[0] == ',') {
		var end int
		fraction, digits, end = billionths(rest, 1)
		rest = rest[end:]
	}
	seconds := at.Unix() - zoneOf(rest)
	if seconds < 0 || seconds > math.MaxInt64/int64(time.Second)-1 {
		return 0, 0
	}
	return seconds*int64(time.Second) + int64(fraction), unitOf(digits)
}

// zoneOf reads +hh:mm or +hhmm, in seconds.
func zoneOf(v []byte) int64 {
	if len(v) < 5 || v[0] != '+' && v[0] != '-' {
		return 0
	}
	minutes := v[3:]
	if minutes[0] == ':' {
		minutes = minutes[1:]
	}
	minutes = minutes[:min(2, len(minutes))]
	zone := int64(number(v[1:3])*3600 + number(minutes)*60)
	if v[0] == '-' {
		return -zone
	}
	return zone
}

// spanOf reads a duration in seconds.
func spanOf(v []byte, unit time.Duration) int64 {
	whole, fraction, _, ok := decimal(v)
	if !ok || whole > uint64(math.MaxInt64/int64(unit))-1 {
		return 0
	}
	return int64(whole)*int64(unit) + int64(fraction)/int64(time.Second/unit)
}
