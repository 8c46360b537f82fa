package capture

// BGZF is gzip data in members of at most 64 KiB, whose headers say how long the
// member is (The SAM/BAM Format Specification, section 4.1). Every gzip program reads
// it, bgzip and others make it, and its members can be worked on side by side.
const (
	// bgzfHeader begins a member up to its length less 1, a 16-bit number: deflate,
	// an extra field, no time, any system, and in the field a subfield BC.
	bgzfHeader    = "\x1f\x8b\x08\x04\x00\x00\x00\x00\x00\xff\x06\x00BC\x02\x00"
	bgzfHeaderLen = len(bgzfHeader) + 2
	bgzfTrailer   = 8 // checksum and length of the content
	bgzfMaxData   = 1 << 16
	// bgzfData is how much is put into one member, as bgzip does: what does not
	// compress still fits with what deflate and the header add.
	bgzfData = 0xff00
	// bgzfEnd is an empty member that says that the file is complete.
	bgzfEnd = bgzfHeader + "\x1b\x00\x03\x00" + "\x00\x00\x00\x00\x00\x00\x00\x00"
)

// isBgzf reports whether head begins a member of BGZF.
func isBgzf(head []byte) bool {
	_, ok := bgzfMember(head)
	return ok
}

// bgzfMember returns the length of the member that head begins with, if it is one of
// BGZF: nothing but the extra field in its header, BC the first subfield of it.
func bgzfMember(head []byte) (n int, ok bool) {
	if len(head) < bgzfHeaderLen || string(head[:4]) != bgzfHeader[:4] || string(head[12:16]) != bgzfHeader[12:16] {
		return 0, false
	}
	extra := int(le.Uint16(head[10:]))
	n = int(le.Uint16(head[16:])) + 1
	return n, extra >= 6 && n >= 12+extra+bgzfTrailer
}
