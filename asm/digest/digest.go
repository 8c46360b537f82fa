package digest

import (
	"encoding/binary"
)

// Digest is a keyed 128-bit digest: element 0 holds bytes 0 to 7 of the
// cipher's or hash's output, element 1 bytes 8 to 15, both little-endian. Filters take
// the line number from element 1 and everything inside the line from element 0.
type Digest = [2]uint64

// Message is one variable-length input of a batch digest: Len bytes at Off of
// the batch's buffer, and a tweak that is digested with them (zero where
// there is nothing to add). Length and tweak are always part of what is
// digested, so no message is a prefix of another.
type Message struct {
	Off   uint32
	Len   uint32
	Tweak uint64
}

// MessageDigester is what computes the digests of packet identities: [AES] or
// [Highway], chosen by configuration and never by the CPU. The results of
// both are the same on every machine.
type MessageDigester interface {
	// SumMessages writes the digest of msgs[i], a piece of buf, to dst[i].
	SumMessages(dst []Digest, buf []byte, msgs []Message)
}

// checkMessages panics, in the name of method, unless every message lies in
// buf and dst has a place for each. No sum can wrap: all terms are 32 bits.
// What is gathered is the sign of what buf has behind a message: an or takes one cycle.
func checkMessages(method string, dst []Digest, buf []byte, msgs []Message) {
	if len(dst) < len(msgs) {
		panic("digest: " + method + ": dst shorter than msgs")
	}
	var left int64
	for i := range msgs {
		left |= int64(len(buf)) - int64(msgs[i].Off) - int64(msgs[i].Len)
	}
	if left < 0 {
		panic("digest: " + method + ": message reaches beyond buf")
	}
}

// putHeader writes what both digests take in before the message itself:
// LE64(length) || LE64(tweak).
func putHeader(b *[16]byte, m *Message) {
	binary.LittleEndian.PutUint64(b[:8], uint64(m.Len))
	binary.LittleEndian.PutUint64(b[8:], m.Tweak)
}
