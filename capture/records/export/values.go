// SPDX-License-Identifier: Apache-2.0

package export

import (
	"encoding/binary"
	"math"
	"net/netip"
	"time"
)

// values are fields without a single place in a record.
type values struct {
	startUp, endUp       uint32
	hasStartUp, hasEndUp bool
	boot                 int64 // when the exporter started
	duration, event      int64
	bytes, packets       uint64 // totals, or of the initiator
	// Totals of the reverse direction, or of the responder.
	bytesReverse, packetsReverse uint64
	icmp                         uint16
	hasICMP                      bool

	interval, taken, space, size, population uint64
	sampler                                  uint64
	hasSampler                               bool
}

// number reads an unsigned integer of any length (RFC 7011, section 6.2).
func number(v []byte) (n uint64) {
	switch v = v[max(0, len(v)-8):]; len(v) {
	case 2:
		return uint64(binary.BigEndian.Uint16(v))
	case 4:
		return uint64(binary.BigEndian.Uint32(v))
	case 8:
		return binary.BigEndian.Uint64(v)
	}
	for _, b := range v {
		n = n<<8 | uint64(b)
	}
	return n
}

// since1970 returns nanoseconds, or 0 for a time that has no place there.
func since1970(n uint64, unit time.Duration) int64 {
	if n > math.MaxInt64/uint64(unit) {
		return 0
	}
	return int64(n) * int64(unit)
}

// fromNTP reads a time of RFC 5905, seconds since 1900 and a fraction.
func fromNTP(v []byte) int64 {
	if len(v) != 8 {
		return 0
	}
	const to1970, era = 2208988800, 1 << 32
	seconds := int64(binary.BigEndian.Uint32(v)) - to1970
	if seconds < -to1970+1<<31 {
		seconds += era
	}
	return max(0, seconds*int64(time.Second)+int64(uint64(binary.BigEndian.Uint32(v[4:]))*uint64(time.Second)>>32))
}

// address sets to unless the field has another length, or would replace an address by none:
// some templates have fields for both families. Of several addresses the last counts: the inner
// header's (RFC 7011, section 8).
func address(to *netip.Addr, v []byte) {
	var a netip.Addr
	switch len(v) {
	case 4:
		a = netip.AddrFrom4([4]byte(v))
	case 16:
		a = netip.AddrFrom16([16]byte(v)).Unmap()
	default:
		return
	}
	if !to.IsValid() || !a.IsUnspecified() {
		*to = a
	}
}
