package capture

import (
	"bytes"
	"fmt"
)

// recognise returns the reader of the format that head, 4 bytes or more,
// begins with, or nil.
func recognise(head []byte, warn func(at int, err error)) format {
	if le.Uint32(head) == BlockSectionHeader {
		return newPcapNG(warn)
	}
	if p := newPcap(head); p != nil {
		return p
	}
	return nil
}

// foreign lists what people hand over by mistake, by its first bytes.
var foreign = []struct{ magic, what string }{
	{"BZh", "bzip2 data, which has to be decompressed first"},
	{"\xfd7zXZ", "xz data, which has to be decompressed first"},
	{"7z\xbc\xaf", "a 7-Zip archive"},
	{"PK\x03\x04", "a zip archive"},
	{"snoop\x00", "a snoop capture"},
	{"GMBU", "a Microsoft Network Monitor capture"},
	{"RTSS", "a Microsoft Network Monitor capture"},
	{"\x7fELF", "a program"},
	{"%PDF", "a PDF document"},
}

// describe says what an input of an unknown format looks like.
func describe(head []byte) string {
	for _, f := range foreign {
		if bytes.HasPrefix(head, []byte(f.magic)) {
			return f.what
		}
	}
	start := head[:min(len(head), 16)]
	if isText(start) {
		return fmt.Sprintf("the text %q", start)
	}
	return fmt.Sprintf("the bytes %x", start[:4])
}

func isText(b []byte) bool {
	for _, c := range b {
		if (c < ' ' || c > '~') && c != '\n' && c != '\r' && c != '\t' {
			return false
		}
	}
	return true
}
