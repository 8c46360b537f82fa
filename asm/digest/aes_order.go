//go:build (amd64 || arm64) && !purego

package digest

// orderedMessages is how many messages are sorted at once: as many as callers have, since
// more of them then have equal lengths, and their states fit the stack.
const orderedMessages = 512

// messageOrder is the memory for sorting messages.
type messageOrder struct {
	order [orderedMessages]uint16
	start [orderClasses + 1]uint16
}

// orderClasses is how many lengths in blocks are distinguished: those of Ethernet frames.
// Longer messages are in the last class.
const orderClasses = 128

// cipherBlocks returns how many blocks a message of that length has after the first one,
// which holds the length.
func cipherBlocks(length uint32) uint64 { return (uint64(length) + 15) / 16 }

func orderClass(m *Message) uint64 { return min(cipherBlocks(m.Len), orderClasses-1) }

// sort returns the indexes of 1 to orderedMessages messages in order of their classes (a
// counting sort), and whether all have the same number of blocks.
func (o *messageOrder) sort(msgs []Message) (order []uint16, same bool) {
	order = o.order[:len(msgs)]
	if sameBlocks(msgs) { // as in a flood of short packets
		copy(order, unsorted[:])
		return order, true
	}
	clear(o.start[:])
	for i := range msgs {
		o.start[orderClass(&msgs[i])+1]++
	}
	sum := uint16(0)
	for class := range o.start {
		sum += o.start[class]
		o.start[class] = sum
	}
	for i := range msgs {
		at := &o.start[orderClass(&msgs[i])]
		order[*at] = uint16(i)
		*at++
	}
	return order, false
}

// runEnd returns where the messages end that have as many blocks as the one at begin of the
// order that sort returned last. After sorting, start has the ends of the classes.
func (o *messageOrder) runEnd(msgs []Message, order []uint16, begin int) (end int) {
	class := orderClass(&msgs[order[begin]])
	if class < orderClasses-1 {
		return int(o.start[class])
	}
	length := cipherBlocks(msgs[order[begin]].Len)
	for end = begin + 1; end < len(order) && cipherBlocks(msgs[order[end]].Len) == length; {
		end++
	}
	return end
}

// sumEqual digests the messages that order lists, sorted, in groups of the same number of
// blocks. It returns those that fit no group, in order. With same, all have the same number.
func (a *AES) sumEqual(dst []Digest, buf []byte, msgs []Message, o *messageOrder, order []uint16, same bool) (rest []uint16) {
	group, least := a.equalGroup()
	kept := 0
	for begin := 0; begin < len(order); {
		length := cipherBlocks(msgs[order[begin]].Len)
		end := len(order)
		if !same {
			end = o.runEnd(msgs, order, begin)
		}
		if groups := (end - begin) / group; groups > 0 && length >= least {
			a.sumEqualGroups(dst, buf, msgs, order[begin:], groups, int(length))
			begin += groups * group
		}
		kept += copy(order[kept:], order[begin:end])
		begin = end
	}
	return order[:kept]
}

// unsorted is the order of messages as they come.
var unsorted = func() (order [orderedMessages]uint16) {
	for i := range order {
		order[i] = uint16(i)
	}
	return order
}()

// sameBlocks reports whether there is nothing to sort. A few messages show of most streams
// that there is.
func sameBlocks(msgs []Message) bool {
	const few = 16
	if _, same := scanMessages(msgs[:min(few, len(msgs))], 0); !same {
		return false
	}
	_, same := scanMessages(msgs, 0)
	return same
}
