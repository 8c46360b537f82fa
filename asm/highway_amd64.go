//go:build amd64 && !purego

package asm

// highwayLanes is how many messages the kernel takes side by side.
const highwayLanes = 8

// highwayGroup is what the kernel needs of its messages. Offsets and counts of
// whole packets stand for themselves; final holds what the rest of a message,
// shorter than a packet, becomes, and rest its length, 0 if there is none.
type highwayGroup struct {
	final  [highwayLanes][4]uint64
	offset [highwayLanes]uint64
	whole  [highwayLanes]uint64
	rest   [highwayLanes]uint64
	header [highwayLanes][2]uint64 // length and tweak
	out    [highwayLanes]Digest
	most   uint64 // the largest of whole
}

func (h *Highway) sumMessages(dst []Digest, buf []byte, msgs []Message) {
	if level < levelAVX512 {
		h.sumMessagesGeneric(dst, buf, msgs)
		return
	}
	var first byte
	start := &first // an empty buffer has no first byte, and is not read
	if len(buf) > 0 {
		start = &buf[0]
	}
	var o messageOrder
	var g highwayGroup
	for len(msgs) > 0 {
		n := min(len(msgs), orderedMessages)
		order := o.sort(msgs[:n])
		for len(order) > 0 {
			taken := min(len(order), highwayLanes)
			g.fill(buf, msgs[:n], order[:taken])
			sumHighwayAVX512(&g, start, &h.start)
			for lane, at := range order[:taken] {
				dst[at] = g.out[lane]
			}
			order = order[taken:]
		}
		dst, msgs = dst[n:], msgs[n:]
	}
}

// fill puts the messages that order lists in the lanes. Lanes that are left over
// repeat the last one.
func (g *highwayGroup) fill(buf []byte, msgs []Message, order []uint16) {
	g.most = 0
	for lane := range highwayLanes {
		g.set(lane, buf, &msgs[order[min(lane, len(order)-1)]])
	}
}

// set puts a message in a lane.
func (g *highwayGroup) set(lane int, buf []byte, m *Message) {
	whole := uint64(m.Len) / 32
	g.offset[lane], g.whole[lane], g.rest[lane] = uint64(m.Off), whole, uint64(m.Len)%32
	g.header[lane] = [2]uint64{uint64(m.Len), m.Tweak}
	g.most = max(g.most, whole)
	if m.Len%32 != 0 {
		finalPacket(&g.final[lane], buf[m.Off:][:m.Len][whole*32:])
	}
}

// sumHighwayAVX512 computes group.out. start is the state before the first packet.
//
//go:noescape
func sumHighwayAVX512(group *highwayGroup, buf *byte, start *highwayState)
