package capture

import "math"

// NoTime is the Time of a frame that carries no timestamp (a pcapng simple
// packet block).
const NoTime = math.MinInt64

// Batch is a run of consecutive records of a Source, in stream order.
//
// The batch owns its memory: a Source fills Buf (growing it where it must) and
// describes what lies there in Frames and Blocks. Everything stays valid until
// the same batch is passed to Next again, so several batches may be in flight
// at once. Offsets instead of slices keep a frame at 32 bytes without a
// pointer for the garbage collector.
type Batch struct {
	// Buf holds whole records (pcap) or blocks (pcapng) as they were read, less
	// pcapng blocks and options that must not be copied into a changed file.
	// Bytes after the last described record belong to the next batch.
	Buf []byte
	// Frames describes the packets.
	Frames []Frame
	// Blocks describes everything else that a writer must keep: file headers
	// and pcapng blocks that hold no packet.
	Blocks []Block
	// Interfaces and Sections are all those known once this batch was read,
	// indexed by Frame.Interface and by Interface.Section or Block.Section.
	// A Source only ever appends to them, so an older batch stays valid.
	Interfaces []Interface
	Sections   []Section

	// SourceState belongs to the Source: what it keeps with the batch from call to
	// call, such as the memory below Buf, or a part of the input that is read for this
	// batch. A Source replaces the state of another one; nobody else uses it.
	SourceState any
}

// Frame is one captured packet. Offsets are in bytes from the start of
// Batch.Buf.
type Frame struct {
	Time      int64  // nanoseconds since 1970 UTC, or NoTime
	Data      uint32 // offset of the first captured byte
	CapLen    uint32 // captured bytes
	WireLen   uint32 // length on the wire as recorded; never trust it as a size
	Interface uint32 // index into Batch.Interfaces
	Record    uint32 // offset of the record or block that holds the frame
	RecordLen uint32 // its length, header, padding and options included
}

// Block is a piece of the stream that holds no packet.
type Block struct {
	Type    uint32 // pcapng block type, or BlockFileHeader
	Offset  uint32 // of the whole block in Batch.Buf
	Len     uint32 // of the whole block
	Section uint32 // index into Batch.Sections
	Before  uint32 // how many frames of this batch precede it
}

// Data returns the captured bytes of frame i. The slice points into Buf and
// has no spare capacity.
func (b *Batch) Data(i int) []byte {
	f := &b.Frames[i]
	end := f.Data + f.CapLen
	return b.Buf[f.Data:end:end]
}

// Record returns the whole record or block that holds frame i, as read.
func (b *Batch) Record(i int) []byte {
	f := &b.Frames[i]
	end := f.Record + f.RecordLen
	return b.Buf[f.Record:end:end]
}

// Block returns the bytes of block i, as read.
func (b *Batch) Block(i int) []byte {
	k := &b.Blocks[i]
	end := k.Offset + k.Len
	return b.Buf[k.Offset:end:end]
}

// Reset empties the batch, and keeps its memory and SourceState.
func (b *Batch) Reset() {
	b.Buf = b.Buf[:0]
	b.Frames = b.Frames[:0]
	b.Blocks = b.Blocks[:0]
}
