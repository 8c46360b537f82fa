//go:build amd64 && !purego

package digest

import "github.com/flowdedup/flowdedup/asm/internal/cpu"

// aesGroup is how many messages AES-NI digests side by side.
const aesGroup = 8

// sumSorted digests the messages that order lists, sorted. VAES has kernels for lanes.
// AES-NI has one for groups of any lengths, that takes as long as if all of a group were as
// long as the longest.
func (a *AES) sumSorted(dst []Digest, buf []byte, msgs []Message, o *messageOrder, order []uint16, same bool) {
	if a.level == cpu.VAES {
		a.sumLanes(dst, buf, msgs, o, order, same)
		return
	}
	a.sumGroups(dst, buf, msgs, o, order)
}

// sumGroups digests groups of messages. The last one is filled up with a message that it has.
func (a *AES) sumGroups(dst []Digest, buf []byte, msgs []Message, o *messageOrder, order []uint16) {
	order = a.sumFront(dst, buf, msgs, order)
	n := len(order)
	if n == 0 {
		return
	}
	order = o.order[:(n+aesGroup-1)/aesGroup*aesGroup]
	for i := n; i < len(order); i++ {
		order[i] = order[n-1]
	}
	sumGroupsAESNI(&dst[0], &buf[0], &msgs[0], &order[0], len(order)/aesGroup, a.schedule)
}

// sumFront digests the messages that end within the first block of buf, since a kernel
// loads the 16 bytes before the end of a message. It returns the other ones.
func (a *AES) sumFront(dst []Digest, buf []byte, msgs []Message, order []uint16) (rest []uint16) {
	kept := 0
	for i, at := range order {
		m := &msgs[at]
		if m.Len > 16 { // so are all that come after it
			return order[:kept+copy(order[kept:], order[i:])]
		}
		if uint64(m.Off)+uint64(m.Len) < 16 {
			a.sumMessagesGeneric(dst[at:at+1], buf, msgs[at:at+1])
			continue
		}
		order[kept] = at
		kept++
	}
	return order[:kept]
}
