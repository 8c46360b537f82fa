//go:build (amd64 || arm64) && !purego

package digest

// sumMessages gives a kernel parts of the batch one after another, in groups of its
// lanes. Lanes that are left over repeat the last message.
func (h *Highway) sumMessages(dst []Digest, buf []byte, msgs []Message) {
	lanes := highwayLanes()
	if lanes == 0 {
		h.sumMessagesGeneric(dst, buf, msgs)
		return
	}
	var front bufferFront
	copy(front[16:], buf)
	var o messageOrder
	for len(msgs) > 0 {
		n := min(len(msgs), orderedMessages)
		order, _ := o.sort(msgs[:n])
		for len(order)%lanes != 0 {
			order = append(order, order[n-1])
		}
		h.sumGroups(dst[:n], buf, msgs[:n], order, &front)
		dst, msgs = dst[n:], msgs[n:]
	}
}

// bufferFront holds the first bytes of a buffer, from 16 on: a kernel loads the last
// 16 bytes before a message's end, which for a short message at the buffer's
// beginning are not in the buffer.
type bufferFront [32]byte
