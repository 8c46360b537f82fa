package digest

import "encoding/binary"

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
