package capture

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/flowdedup/flowdedup/capture/internal/encoding"
)

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
//
// A program that has packets of its own fills a batch by hand, with AppendInterface and
// Append. Writers, identities and filters take it as they take one of a Source.
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

// AppendInterface describes an interface that packets come from, in a batch that is
// filled by hand, and returns its number for Append. The link type (up to 65535), name,
// snap length and length of the check sequence count. Its times are in nanoseconds, and
// it is a capture point of its own. The batch must be empty at first, or be filled by
// AppendInterface and Append alone.
//
// Sections and Interfaces outlast Reset: what fills one batch after another describes
// each interface once, and gives later batches the tables of the first. They are one
// pcapng section, whose header is a block of the batch, as is the description.
func (b *Batch) AppendInterface(it Interface) uint32 {
	if it.LinkType > math.MaxUint16 {
		panic(fmt.Sprintf("capture: AppendInterface: link type %v in pcapng", it.LinkType))
	}
	if len(b.Sections) == 0 {
		b.Sections = append(b.Sections, Section{Format: FormatPcapNG})
		b.appendBlock(BlockSectionHeader, AppendSectionHeader)
	}
	n := uint32(len(b.Interfaces))
	it.Section, it.ID, it.CapturePoint = 0, n, n
	it.TicksPerSecond, it.OffsetSeconds = 1e9, 0
	b.Interfaces = append(b.Interfaces, it)
	b.appendBlock(BlockInterface, func(p []byte) []byte { return AppendInterface(p, &it, true) })
	return n
}

// appendBlock adds a block of section 0.
func (b *Batch) appendBlock(kind uint32, content func([]byte) []byte) {
	at := len(b.Buf)
	b.Buf = content(b.Buf)
	b.Blocks = append(b.Blocks, Block{Type: kind, Offset: uint32(at), Len: uint32(len(b.Buf) - at), Before: uint32(len(b.Frames))})
}

// Append adds a packet to a batch that is filled by hand, with a copy of its captured
// bytes. Of f the time, the interface (a number that AppendInterface returned) and the
// length on the wire count, which is that of data if it is less. A writer gives a packet
// without a time, or from before 1970, the first instant of that year. Append panics if
// the batch has no such interface, or would hold more than 4 GiB. It allocates only
// where the batch has to grow.
func (b *Batch) Append(f Frame, data []byte) {
	if int(f.Interface) >= len(b.Interfaces) {
		panic(fmt.Sprintf("capture: Append: interface %d of %d", f.Interface, len(b.Interfaces)))
	}
	at, size := uint64(len(b.Buf)), encoding.MinPacketLen+(uint64(len(data))+3)&^3
	if at+size > math.MaxUint32 {
		panic("capture: Append: more than 4 GiB in a batch")
	}
	f.CapLen = uint32(len(data))
	f.WireLen = max(f.WireLen, f.CapLen)
	f.Record, f.RecordLen = uint32(at), uint32(size)
	f.Data = f.Record + encoding.PacketHead
	b.Buf = slices.Grow(b.Buf, int(size))[:at+size]
	p := b.Buf[at:]
	time := uint64(max(f.Time, 0))
	binary.LittleEndian.PutUint32(p, BlockEnhancedPacket)
	binary.LittleEndian.PutUint32(p[4:], f.RecordLen)
	binary.LittleEndian.PutUint32(p[8:], f.Interface)
	binary.LittleEndian.PutUint32(p[12:], uint32(time>>32))
	binary.LittleEndian.PutUint32(p[16:], uint32(time))
	binary.LittleEndian.PutUint32(p[20:], f.CapLen)
	binary.LittleEndian.PutUint32(p[24:], f.WireLen)
	clear(p[encoding.PacketHead+copy(p[encoding.PacketHead:], data) : size-4])
	binary.LittleEndian.PutUint32(p[size-4:], f.RecordLen)
	b.Frames = append(b.Frames, f)
}

// Reset empties the batch, and keeps its memory and SourceState.
func (b *Batch) Reset() {
	b.Buf = b.Buf[:0]
	b.Frames = b.Frames[:0]
	b.Blocks = b.Blocks[:0]
}
