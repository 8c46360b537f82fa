//go:build (amd64 || arm64) && !purego

package asm

// orderedMessages is how many messages are sorted at once: their states fit the
// stack and, with their first lines, the L1 cache.
const orderedMessages = 256

// messageOrder is the memory for sorting messages.
type messageOrder struct {
	order [orderedMessages]uint16
	start [orderClasses + 1]uint16
}

// orderClasses is how many lengths are told apart, in blocks: up to an Ethernet
// frame's. What is longer is in the last class.
const orderClasses = 128

// blocks returns how many blocks a message has after its first, which holds its
// length.
func blocks(m *Message) uint64 { return (uint64(m.Len) + 15) / 16 }

func orderClass(m *Message) uint64 { return min(blocks(m), orderClasses-1) }

// sort returns the indexes of 1 to orderedMessages messages, the shorter class
// first (a counting sort).
func (o *messageOrder) sort(msgs []Message) []uint16 {
	order := o.order[:len(msgs)]
	if sameClass(msgs) {
		copy(order, unsorted[:])
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

// unsorted is the order of messages as they come.
var unsorted = func() (order [orderedMessages]uint16) {
	for i := range order {
		order[i] = uint16(i)
	}
	return order
}()

// sameClass reports whether there is nothing to sort, as in a flood of short
// packets.
func sameClass(msgs []Message) bool {
	first := orderClass(&msgs[0])
	for i := range msgs {
		if orderClass(&msgs[i]) != first {
			return false
		}
	}
	return true
}
