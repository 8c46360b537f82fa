package digest

import (
	"encoding/binary"
)

// Digest is a keyed digest of 128 bits. Element 0 has bytes 0 to 7 of the output of the
// cipher or hash, element 1 bytes 8 to 15, both little-endian. Element 1 chooses the line
// of a filter, and element 0 everything inside the line.
type Digest = [2]uint64

// Message is one input of variable length: Len bytes at Off of the buffer of a batch, and
// a tweak that is digested with them (0 if there is nothing to add). Length and tweak are
// always part of the digested bytes, so no input is a prefix of another.
type Message struct {
	Off   uint32
	Len   uint32
	Tweak uint64
}

// MessageDigester computes the digests of packet identities. [AES] and [Highway] do.
// Configuration chooses one of them, never the CPU. The digests of each are the same on
// every machine.
type MessageDigester interface {
	// SumMessages writes the digest of msgs[i], which lies in buf, to dst[i].
	SumMessages(dst []Digest, buf []byte, msgs []Message)
}

// checkMessages panics, in the name of method, unless every message lies in buf and dst
// has a place for each. No sum can wrap, since all terms have 32 bits.
func checkMessages(method string, dst []Digest, buf []byte, msgs []Message) {
	if len(dst) < len(msgs) {
		panic("digest: " + method + ": dst shorter than msgs")
	}
	if outside, _ := scanMessages(msgs, uint64(len(buf))); outside {
		panic("digest: " + method + ": message reaches beyond buf")
	}
}

// scanMessages reports whether a message reaches beyond a buffer of size bytes, and whether
// all have the same number of blocks. It collects bits that differ, and the signs of what
// the buffer has after each message.
func scanMessages(msgs []Message, size uint64) (outside, same bool) {
	if len(msgs) == 0 {
		return false, true
	}
	first := uint64(msgs[0].Len) - 1
	done, left, differ := scanVectors(msgs, size)
	for i := range msgs[done:] {
		m := &msgs[done+i]
		left |= size - uint64(m.Off) - uint64(m.Len)
		differ |= (uint64(m.Len) - 1) ^ first
	}
	return int64(left) < 0, differ/16 == 0
}

// putHeader writes what both digests have before the message: LE64(length) ||
// LE64(tweak).
func putHeader(b *[16]byte, m *Message) {
	binary.LittleEndian.PutUint64(b[:8], uint64(m.Len))
	binary.LittleEndian.PutUint64(b[8:], m.Tweak)
}
