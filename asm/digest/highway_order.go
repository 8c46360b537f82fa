// SPDX-License-Identifier: Apache-2.0

//go:build (amd64 || arm64) && !purego

package digest

// orderedMessages is how many messages are sorted at once: as many as callers have, since
// more of them then have equal lengths, and their order fits the stack.
const orderedMessages = 512

// messageOrder is the memory for sorting messages.
type messageOrder struct {
	order [orderedMessages]uint16
	start [orderClasses + 1]uint16
}

// orderClasses is how many lengths are distinguished, 16 bytes each: those of Ethernet
// frames. Longer messages are in the last class.
const orderClasses = 128

func orderClass(m *Message) uint64 { return min((uint64(m.Len)+15)/16, orderClasses-1) }

// sort returns the indexes of 1 to orderedMessages messages in order of their classes (a
// counting sort).
func (o *messageOrder) sort(msgs []Message) (order []uint16) {
	order = o.order[:len(msgs)]
	if sameClass(msgs) { // as in a flood of short packets
		for i := range order {
			order[i] = uint16(i)
		}
		return order
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
	return order
}

// sameClass reports whether there is nothing to sort.
func sameClass(msgs []Message) bool {
	class := orderClass(&msgs[0])
	for i := range msgs {
		if orderClass(&msgs[i]) != class {
			return false
		}
	}
	return true
}
