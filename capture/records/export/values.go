// SPDX-License-Identifier: Apache-2.0

package export

import (
	"cmp"
	"encoding/binary"
	"math"
	"net/netip"
	"time"

	"github.com/flowdedup/flowdedup/capture/records"
	"github.com/flowdedup/flowdedup/engine/calendar"
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

// address stores an address of 4 or 16 bytes. Zeros do not replace an address, as some templates have
// fields for both families. The last of several addresses counts, which is the inner header's (RFC
// 7011, section 8).
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

// IP protocols whose packets have a type and a code in place of ports.
const (
	icmp4 = 1
	icmp6 = 58
)

// finish completes a record whose fields were read. It reports whether all times in it are 0.
func (x *values) finish(r *records.Record, m *message, s *source) (zero bool) {
	r.Bytes, r.Packets = cmp.Or(r.Bytes, x.bytes), cmp.Or(r.Packets, x.packets)
	r.ReverseBytes, r.ReversePackets = cmp.Or(r.ReverseBytes, x.bytesReverse), cmp.Or(r.ReversePackets, x.packetsReverse)
	r.Both = r.ReverseBytes|r.ReversePackets != 0
	x.finishICMP(r)
	if x.hasStartUp || x.hasEndUp {
		x.finishUptime(r, m, s)
	}
	zero = r.Precision != 0 && r.Start|r.End == 0 || x.hasStartUp && x.hasEndUp && x.startUp|x.endUp == 0 && m.uptime != 0
	x.finishTimes(r)
	if r.Sampling = x.sampling(); r.Sampling == 0 {
		r.Sampling = s.sampling(x)
	}
	r.Unmatched = !r.HasAddress()
	return zero
}

// finishICMP puts type and code of ICMP where most exporters have them: in the destination port.
func (x *values) finishICMP(r *records.Record) {
	switch {
	case r.Protocol != icmp4 && r.Protocol != icmp6:
		return
	case x.hasICMP && (x.icmp != 0 || r.DestinationPort == 0):
		r.DestinationPort = x.icmp
	case r.DestinationPort == 0:
		r.DestinationPort = r.SourcePort
	}
	r.SourcePort = 0
}

// finishUptime turns times since the exporter's start into times since 1970.
func (x *values) finishUptime(r *records.Record, m *message, s *source) {
	if x.boot == 0 {
		x.boot = s.boot
	}
	if !m.hasUptime && x.boot == 0 {
		return
	}
	at := func(up uint32) int64 {
		if m.hasUptime {
			return m.sent - ago(m.uptime, up)
		}
		return wrapped(calendar.Shift(x.boot, int64(up)*int64(time.Millisecond)), m.exported)
	}
	if x.hasStartUp {
		r.Start = at(x.startUp)
	}
	if x.hasEndUp {
		r.End = at(x.endUp)
	}
	r.Precision = m.precision
}

// ago returns by how much a time lies before now, both in milliseconds of a clock with 32 bits,
// which wraps each 49.7 days. Some exporters send times a little ahead of the clock.
func ago(now, then uint32) int64 {
	const ahead = uint32(time.Hour / time.Millisecond)
	d := int64(now - then)
	if d > math.MaxUint32-int64(ahead) {
		d -= 1 << 32
	}
	return d * int64(time.Millisecond)
}

// wrapped adds or takes off wraps of a clock of 32 bits, so that t is as near as possible to near.
func wrapped(t, near int64) int64 {
	const wrap = 1 << 32 * int64(time.Millisecond)
	switch d := near - t; {
	case d > wrap/2:
		t += (d + wrap/2) / wrap * wrap
	case d < -wrap/2:
		t -= (wrap/2 - d) / wrap * wrap
	}
	return t
}

// finishTimes derives a missing start from the end, and a missing end from the start.
func (x *values) finishTimes(r *records.Record) {
	switch {
	case r.Start != 0 && r.End == 0 && x.duration != 0:
		r.End = calendar.Shift(r.Start, x.duration)
	case r.End != 0 && r.Start == 0 && x.duration != 0:
		r.Start = calendar.Shift(r.End, -x.duration)
	}
	if r.End == 0 && x.event >= r.Start {
		r.End = x.event
	}
	if r.Start == 0 {
		r.Start = r.End
	}
	if r.End == 0 {
		r.End = r.Start
	}
	if r.Start != 0 && r.Precision == 0 {
		r.Precision = time.Millisecond
	}
}

// sampling returns the sampling interval in a record, 0 if it has none.
func (x *values) sampling() uint32 {
	n := x.interval
	switch {
	case x.size > 0 && x.population >= x.size:
		n = x.population / x.size
	case x.taken > 0 && x.space < math.MaxUint32:
		n = 1 + x.space/x.taken
	}
	return uint32(min(n, math.MaxUint32))
}
