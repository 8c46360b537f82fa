package ring

import "github.com/flowdedup/flowdedup/capture"

// rare are the properties of a packet that need more than its place.
const rare = statusVLAN | statusChecksumNotReady | statusGSO | statusHardware

// takePlain takes packets as they are, from offset at on, until the batch is full. It ends
// before a packet that needs more, or that may be damaged. It returns how many packets it
// took, and the offset of the next one. A packet takes half as long as with frame.
func (w *walker) takePlain(b *capture.Batch, block []byte, at uint, left uint32, origin int) (taken uint32, end uint) {
	have := len(b.Frames)
	free := b.Frames[have:min(have+int(min(left, batchPackets)), batchPackets)]
	n, bytes, truncated := 0, w.bytes, uint64(0)
	records := b.Buf[:cap(b.Buf)]
	if !w.inPlace {
		bytes = uint(len(b.Buf))
	}
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
		f.CapLen, f.WireLen, f.Interface = capLen, wireLen, w.iface
		if w.inPlace {
			f.Data = uint32(uint(origin) + at + mac)
			f.Record, f.RecordLen = 0, 0
			bytes += recordHead + uint(capLen) + recordTail
		} else {
			bytes += putRecord(records, bytes, f, frame[mac:])
		}
		at += next
	}
	b.Frames = b.Frames[:have+n]
	if w.inPlace {
		w.bytes = bytes
	} else {
		b.Buf = records[:bytes]
	}
	w.counts.delivered += uint64(n)
	w.counts.truncated += truncated
	return uint32(n), at
}

// putRecord writes the record of a packet, which data begins with, at offset at of buf. It
// completes f, and returns the length of the record.
func putRecord(buf []byte, at uint, f *capture.Frame, data []byte) uint {
	const most = 64 // of packets that are copied without a call
	if capLen := uint(f.CapLen); capLen <= most && len(data) >= most && uint(len(buf))-at >= recordHead+most {
		*(*[most]byte)(buf[at+recordHead:]) = [most]byte(data) // what is too much is overwritten
	} else {
		copy(buf[at+recordHead:], data[:capLen])
	}
	return frameRecord(buf, at, f)
}

// frameRecord writes all of a record but its packet: see putRecord.
func frameRecord(buf []byte, at uint, f *capture.Frame) uint {
	capLen := uint(f.CapLen)
	padded := (capLen + 3) &^ 3
	size := recordHead + padded + recordTail
	p := buf[at : at+size : at+size]
	for i := capLen; i < padded; i++ {
		p[recordHead+i] = 0
	}
	le.PutUint32(p[recordHead+padded:], uint32(size))
	le.PutUint32(p, capture.BlockEnhancedPacket)
	le.PutUint32(p[4:], uint32(size))
	le.PutUint32(p[8:], f.Interface)
	le.PutUint32(p[12:], uint32(f.Time>>32))
	le.PutUint32(p[16:], uint32(f.Time))
	le.PutUint32(p[20:], f.CapLen)
	le.PutUint32(p[24:], f.WireLen)
	f.Record, f.RecordLen, f.Data = uint32(at), uint32(size), uint32(at+recordHead)
	return size
}

// loadAhead is how many bytes of a ring block are loaded into the cache at a time.
const loadAhead = 4 << 10

// load loads what lies behind an offset into the cache, if that was not done. Another
// processor has written it, and each packet tells where the next one is: without load each
// would be waited for in turn. That is a tenth of all time for small packets.
func (w *walker) load(block []byte, at uint) {
	if at+loadAhead/2 >= w.loaded {
		w.loaded = max(w.loaded, at)
		w.touched += touch(block, w.loaded)
		w.loaded += loadAhead
	}
}

// touch loads bytes all at once: nothing depends on what it loads.
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
