package capture

// plainPackets describes what most files are made of, little-endian enhanced packet
// blocks without options, from pos on, until frames is full or there is another
// block: one that p.block has to deliver, or to find fault with, or that was not
// read whole. It returns how many there are and where they end. As in the walk
// through a pcap file, each Frame is written in its place.
func (p *pcapng) plainPackets(frames []Frame, buf []byte, pos uint32) (found int, end uint32) {
	first, clocks := p.first, p.clocks[p.first:]
	for i := range frames {
		at := int(pos)
		if at+packetHead > len(buf) {
			return i, pos
		}
		h := (*[packetHead]byte)(buf[at : at+packetHead])
		id, capLen, length := le.Uint32(h[8:]), le.Uint32(h[20:]), le.Uint32(h[4:])
		if le.Uint32(h[:]) != BlockEnhancedPacket || uint64(id) >= uint64(len(clocks)) {
			return i, pos
		}
		clock := &clocks[id]
		if capLen > clock.maxLen || length != minPacketLen+pad4(capLen) || int(length) > len(buf)-at {
			return i, pos
		}
		next := int(pos + length)
		if le.Uint32(buf[next-4:next]) != length {
			return i, pos
		}
		f := &frames[i]
		f.Time = clock.nanoseconds(uint64(le.Uint32(h[12:]))<<32 | uint64(le.Uint32(h[16:])))
		f.Data = pos + packetHead
		f.CapLen = capLen
		f.WireLen = le.Uint32(h[24:])
		f.Interface = first + id
		f.Record = pos
		f.RecordLen = length
		pos += length
	}
	return len(frames), pos
}
