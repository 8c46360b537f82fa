package digest

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
