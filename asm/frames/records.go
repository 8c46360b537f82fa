// SPDX-License-Identifier: Apache-2.0

package frames

import (
	"encoding/binary"
	"math/bits"
)

// Records are the records of a file in pcap format (draft-ietf-opsawg-pcap, section 5).
type Records struct {
	Header  uint32 // bytes of a record's header, 16 or more
	Longest uint32 // captured bytes of a packet
	Tick    uint64 // nanoseconds of a unit of the fractions of seconds
	Big     bool   // integers are big-endian, not little-endian
}

// Walk describes the records in buf from pos on, until frames is full. It returns how many, and
// where they end. It stops before a record behind which buf has no room for another header, whose
// packet has no captured bytes or more than Longest, or whose fraction is a second or more.
func (r *Records) Walk(frames []Frame, buf []byte, pos int) (done, end int) {
	last := len(buf) - int(r.Header)
	if len(frames) == 0 || pos < 0 || pos > last {
		return 0, pos
	}
	return r.walk(frames, buf, pos, last)
}

// walkGeneric writes frames field by field: the compiler builds a literal elsewhere and copies it,
// which takes longer than all else here.
func (r *Records) walkGeneric(frames []Frame, buf []byte, pos, last int) (done, end int) {
	header, longest, tick, big := int(r.Header), r.Longest, r.Tick, r.Big
	for i := range frames {
		h := (*[16]byte)(buf[pos : pos+16])
		times, lens := binary.LittleEndian.Uint64(h[:]), binary.LittleEndian.Uint64(h[8:])
		if big {
			times, lens = native(times), native(lens)
		}
		data := pos + header
		end, fraction := data+int(uint32(lens)), times>>32*tick
		if uint32(lens)-1 >= longest || end > last || fraction >= 1e9 {
			return i, pos
		}
		f := &frames[i]
		f.Time = int64(uint64(uint32(times))*1e9 + fraction)
		f.Data = uint32(data)
		f.CapLen = uint32(lens)
		f.WireLen = uint32(lens >> 32)
		f.Interface = 0
		f.Record = uint32(pos)
		f.RecordLen = uint32(end - pos)
		pos = end
	}
	return len(frames), pos
}

// native returns two integers a and b of 32 bits, a in the low half, that lie in big-endian order and
// were read as a little-endian integer v of 64 bits. From the highest byte to the lowest:
//
//	v               b3 b2 b1 b0 a3 a2 a1 a0   as the file has a0 a1 a2 a3 b0 b1 b2 b3
//	ReverseBytes64  a0 a1 a2 a3 b0 b1 b2 b3
//	RotateLeft64    b0 b1 b2 b3 a0 a1 a2 a3
func native(v uint64) uint64 { return bits.RotateLeft64(bits.ReverseBytes64(v), 32) }
