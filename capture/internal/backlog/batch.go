// SPDX-License-Identifier: Apache-2.0

package backlog

import "github.com/flowdedup/flowdedup/capture"

// CopyBelow bounds the bytes of records of batches that are copied. A larger batch is
// exchanged, and takes the memory of its source with it: half a mebibyte for a chunk of a
// file.
const CopyBelow = 64 << 10

// IsCopied reports whether a batch is to be copied: if it is small, if most of its memory has
// unwanted packets, or if its source needs the memory of its packets.
func IsCopied(b *capture.Batch) bool {
	if isInPlace(b) || len(b.Buf) < CopyBelow {
		return true
	}
	size := bytesOf(b)
	return size < CopyBelow || 2*size < len(b.Buf)
}

// isInPlace reports whether packets lie where their source needs the memory, without records.
func isInPlace(b *capture.Batch) bool {
	return len(b.Blocks) == 0 && (len(b.Frames) == 0 || b.Frames[0].RecordLen == 0)
}

// bytesOf returns how many bytes the records and blocks of b take.
func bytesOf(b *capture.Batch) int {
	size := BlockBytes(b)
	for i := range b.Frames {
		size += int(b.Frames[i].RecordLen)
	}
	return size
}

// BlockBytes returns how many bytes the blocks of b take that hold no packet.
func BlockBytes(b *capture.Batch) (bytes int) {
	for i := range b.Blocks {
		bytes += int(b.Blocks[i].Len)
	}
	return bytes
}

// Copy makes to a copy of b, without the bytes of unwanted packets where these are more than
// half.
func Copy(to, b *capture.Batch) {
	to.Reset()
	to.Frames = append(to.Frames, b.Frames...)
	to.Blocks = append(to.Blocks, b.Blocks...)
	to.Interfaces, to.Sections = b.Interfaces, b.Sections
	switch {
	case isInPlace(b):
		copyData(to, b)
	case 2*bytesOf(b) < len(b.Buf):
		copyRecords(to, b)
	default:
		to.Buf = append(to.Buf, b.Buf...)
	}
}

// copyData copies packets without records.
func copyData(to, b *capture.Batch) {
	for i := range b.Frames {
		to.Frames[i].Data = uint32(len(to.Buf))
		to.Buf = append(to.Buf, b.Data(i)...)
	}
}

// copyRecords copies the records of packets, and the blocks.
func copyRecords(to, b *capture.Batch) {
	for i := range to.Frames {
		f, at := &to.Frames[i], uint32(len(to.Buf))
		to.Buf = append(to.Buf, b.Record(i)...)
		f.Data = f.Data - f.Record + at
		f.Record = at
	}
	for i := range to.Blocks {
		k, at := &to.Blocks[i], uint32(len(to.Buf))
		to.Buf = append(to.Buf, b.Buf[k.Offset:k.Offset+k.Len]...)
		k.Offset = at
	}
}
