// SPDX-License-Identifier: Apache-2.0

package afpacket

import "github.com/flowdedup/flowdedup/capture"

// rare are the properties of a packet that need more than its place.
const rare = statusVLAN | statusChecksumNotReady | statusGSO | statusHardware

// takePlain takes packets that stay in place as they are, from offset at on, until the
// batch is full. It ends before a packet that needs more, or that may be damaged. It returns
// how many packets it took, and the offset of the next packet. A packet takes half as long as
// with frame.
func (w *walker) takePlain(b *capture.Batch, block []byte, at uint, left uint32, origin int) (taken uint32, end uint) {
	have := len(b.Frames)
	free := b.Frames[have:min(have+int(min(left, batchPackets)), batchPackets)]
	n, bytes, truncated := 0, w.bytes, uint64(0)
	for ; n < len(free) && bytes < batchBytes; n++ {
		w.load(block, at)
		if at > uint(len(block)) || uint(len(block))-at < frameHeadLen {
			break
		}
		frame := block[at:]
		head := frame[:frameHeadLen]
		next, limit := uint(native.Uint32(head[frameNextAt:])), uint(len(frame))
		if left-uint32(n) > 1 {
			if next > limit {
				break
			}
			limit = next
		}
		mac, capLen := uint(native.Uint16(head[frameMacAt:])), native.Uint32(head[frameSnapLenAt:])
		if limit < frameHeadLen || mac < frameHeadLen || mac > limit || uint(capLen) > limit-mac ||
			native.Uint32(head[frameStatusAt:])&rare != 0 {
			break
		}
		wireLen := native.Uint32(head[frameLenAt:])
		capLen = min(capLen, w.snapLen)
		if capLen < wireLen {
			truncated++
		}
		f := &free[n]
		f.Time = int64(native.Uint32(head[frameSecondAt:]))*1e9 + int64(native.Uint32(head[frameNanoAt:]))
		f.Data, f.CapLen = uint32(uint(origin)+at+mac), capLen
		f.WireLen, f.Interface = wireLen, w.iface
		f.Record, f.RecordLen = 0, 0
		bytes += recordHead + uint(capLen) + recordTail
		at += next
	}
	b.Frames = b.Frames[:have+n]
	w.bytes = bytes
	w.counts.delivered += uint64(n)
	w.counts.truncated += truncated
	return uint32(n), at
}

// loadAhead is how many bytes of a ring block are loaded into the cache at a time.
const loadAhead = 4 << 10

// load loads the bytes behind an offset into the cache, unless they were loaded. Another processor
// has written them, and each packet has the offset of the next packet. Without load, the walk waits
// for each in turn: a tenth of all time for small packets.
func (w *walker) load(block []byte, at uint) {
	if at+loadAhead/2 >= w.loaded {
		w.loaded = max(w.loaded, at)
		w.touched += touch(block, w.loaded)
		w.loaded += loadAhead
	}
}

// touch loads bytes all at once: nothing depends on the loaded values.
func touch(block []byte, at uint) (sum byte) {
	const line = 64
	if at > uint(len(block)) {
		return 0
	}
	ahead := block[at:min(at+loadAhead, uint(len(block)))]
	for ; len(ahead) >= 4*line; ahead = ahead[4*line:] {
		sum += ahead[0] + ahead[line] + ahead[2*line] + ahead[3*line]
	}
	return sum
}
