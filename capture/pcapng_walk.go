package capture

import "slices"

// walk delivers what most files are made of, little-endian enhanced packet blocks
// without options, from used on, and returns where the first other block is: one
// that p.block has to deliver, or to find fault with, or that was not read whole.
func (p *pcapng) walk(b *Batch, used int) int {
	if p.big {
		return used
	}
	for full := true; full; {
		b.Frames = slices.Grow(b.Frames, walkRoom)
		room := b.Frames[len(b.Frames):cap(b.Frames)]
		var found int
		found, used = p.plainPackets(room, b.Buf, used)
		b.Frames = b.Frames[:len(b.Frames)+found]
		full = found == len(room)
	}
	return used
}

// plainPackets describes such blocks from pos on, until frames is full, and returns
// how many there are and where they end. As in the walk through a pcap file, each
// Frame is written in its place.
func (p *pcapng) plainPackets(frames []Frame, buf []byte, pos int) (found, end int) {
	first, clocks := p.first, p.clocks[p.first:]
	for i := range frames {
		if pos+minPacketLen > len(buf) {
			return i, pos
		}
		h := (*[packetHead]byte)(buf[pos : pos+packetHead])
		id, capLen, length := le.Uint32(h[8:]), le.Uint32(h[20:]), le.Uint32(h[4:])
		if le.Uint32(h[:]) != BlockEnhancedPacket || uint64(id) >= uint64(len(clocks)) {
			return i, pos
		}
		clock := &clocks[id]
		if capLen > clock.maxLen || length != minPacketLen+pad4(capLen) || int(length) > len(buf)-pos {
			return i, pos
		}
		next := pos + int(length)
		if le.Uint32(buf[next-4:next]) != length {
			return i, pos
		}
		f := &frames[i]
		f.Time = clock.nanoseconds(uint64(le.Uint32(h[12:]))<<32 | uint64(le.Uint32(h[16:])))
		f.Data = uint32(pos) + packetHead
		f.CapLen = capLen
		f.WireLen = le.Uint32(h[24:])
		f.Interface = first + id
		f.Record = uint32(pos)
		f.RecordLen = length
		pos = next
	}
	return len(frames), pos
}
