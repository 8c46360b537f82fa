// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"encoding/binary"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/flowdedup/flowdedup/capture/internal/encoding"
)

// NoTime is the Time of a frame that carries no timestamp (of a pcapng simple packet block,
// for instance).
const NoTime = math.MinInt64

// Batch is a run of consecutive records of a Source, in stream order.
//
// The batch owns its memory. A Source fills Buf, which grows as needed, and describes its
// content in Frames and Blocks. All of it stays valid until the same batch is passed to
// Next again, so several batches may be in flight at once. A Frame holds offsets instead
// of slices: it takes 32 bytes, and no pointer for the garbage collector.
//
// A program with packets of its own fills a batch with AppendInterface and Append.
// Writers, identities and filters take it as they take the batches of a Source.
type Batch struct {
	// Buf holds whole records (pcap) or blocks (pcapng) as they were read, without the
	// pcapng blocks and options whose authors forbid copies in a changed file.
	// Bytes after the last described record belong to the next batch.
	Buf []byte
	// Frames describes the packets.
	Frames []Frame
	// Blocks describes everything else that a writer must keep: file headers
	// and pcapng blocks that hold no packet.
	Blocks []Block
	// Interfaces and Sections are all that the Source knew when it had read this batch.
	// Frame.Interface indexes the former, Interface.Section and Block.Section the latter.
	// A Source only appends to them, so an older batch stays valid.
	Interfaces []Interface
	Sections   []Section
	// Comments are written with packets, in addition to their records. Whoever sets them resets
	// them: no Source does.
	Comments Comments

	// SourceState belongs to the Source. It keeps there its state between calls, such as the
	// memory below Buf, or a chunk of the input that was read for this batch. A Source
	// replaces the state of another Source. Nothing else uses it.
	SourceState any
}

// Frame is a captured packet. Offsets are in bytes from the start of
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

// AppendInterface describes an interface in a batch that the caller fills, and returns its
// number for Append. It takes the link type (at most 65535, else it panics), name, snap length
// and length of the check sequence from it. Times of the interface are in nanoseconds. The
// interface is a capture point of its own. The batch must be empty, or be filled only by
// AppendInterface and Append.
//
// Reset keeps Sections and Interfaces. So a program describes each interface once, in its first
// batch, and gives all later batches the tables of the first, also while several are in
// flight. All interfaces are of the same pcapng section. Its header and their
// descriptions are blocks of the batch, so a second description would be a second section,
// which the Writers of package pcapfile refuse.
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

// Append adds a packet, with a copy of its captured bytes, to a batch that the caller
// fills. It takes the time, the interface (a number that AppendInterface returned) and the
// length on the wire from f, the latter at least len(data). A writer gives a packet
// without a time, or from before 1970, the first instant of 1970. Append panics if the
// batch has no such interface, or would hold more than 4 GiB. It allocates only when the
// batch has to grow.
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
	encoding.PutPacketHead(p, f.RecordLen, f.Interface, uint64(max(f.Time, 0)), f.CapLen, f.WireLen)
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

// application is the name of the writer in a section.
const application = "flowdedup"

// AppendSectionHeader appends the header of a little-endian pcapng section of
// unknown length.
func AppendSectionHeader(p []byte) []byte {
	start := len(p)
	p = encoding.BeginBlock(p, BlockSectionHeader)
	p = binary.LittleEndian.AppendUint32(p, encoding.ByteOrderMagic)
	p = binary.LittleEndian.AppendUint16(p, 1)
	p = binary.LittleEndian.AppendUint16(p, 0)
	p = binary.LittleEndian.AppendUint64(p, encoding.UnknownLength)
	p = encoding.AppendOption(p, encoding.OptUserAppl, application)
	p = binary.LittleEndian.AppendUint32(p, encoding.OptEnd)
	return encoding.EndBlock(p, start)
}

// AppendInterface appends the little-endian pcapng description of an interface
// whose timestamps count nanoseconds or microseconds. A link type above 65535
// has no place there.
func AppendInterface(p []byte, it *Interface, nanosecond bool) []byte {
	start := len(p)
	p = encoding.BeginBlock(p, BlockInterface)
	p = binary.LittleEndian.AppendUint16(p, uint16(it.LinkType))
	p = binary.LittleEndian.AppendUint16(p, 0)
	p = binary.LittleEndian.AppendUint32(p, it.SnapLen)
	options := len(p)
	if it.Name != "" {
		p = encoding.AppendOption(p, encoding.OptName, strings.ToValidUTF8(it.Name, "\uFFFD"))
	}
	if nanosecond {
		p = encoding.AppendOption(p, encoding.OptTSResol, "\x09")
	}
	if it.FCSLen > 0 {
		// In bytes, as the example of the specification and Wireshark have it,
		// although the specification's text says bits.
		p = encoding.AppendOption(p, encoding.OptFCSLen, string([]byte{it.FCSLen}))
	}
	if len(p) > options {
		p = binary.LittleEndian.AppendUint32(p, encoding.OptEnd)
	}
	return encoding.EndBlock(p, start)
}

// AppendStatistics appends the little-endian pcapng statistics of interface id
// of its section at a time in nanoseconds since 1970, for an interface that
// counts nanoseconds: how many packets it received, and how many of them the
// capture lost.
func AppendStatistics(p []byte, id uint32, time int64, received, dropped uint64) []byte {
	start := len(p)
	p = encoding.BeginBlock(p, BlockStatistics)
	p = binary.LittleEndian.AppendUint32(p, id)
	p = binary.LittleEndian.AppendUint32(p, uint32(time>>32))
	p = binary.LittleEndian.AppendUint32(p, uint32(time))
	p = encoding.AppendCount(p, encoding.OptStatReceived, received)
	p = encoding.AppendCount(p, encoding.OptStatDropped, dropped)
	p = binary.LittleEndian.AppendUint32(p, encoding.OptEnd)
	return encoding.EndBlock(p, start)
}

// Comments are texts about the packets of a batch, for pcapng writers that add them to the
// options of packets (see pcapfile.WriterOptions). All other writers leave them out. The
// zero value has none.
type Comments struct {
	ends []uint32 // of the text of each frame
	text []byte
}

// Reset removes all comments, and keeps their memory.
func (c *Comments) Reset() {
	c.ends, c.text = c.ends[:0], c.text[:0]
}

// Set gives frame i of the batch, behind all frames that it was called for before, a copy of a text
// in UTF-8. An empty text is none. Writers truncate a text to 65,535 bytes.
func (c *Comments) Set(i int, text []byte) {
	for len(c.ends) < i {
		c.ends = append(c.ends, uint32(len(c.text)))
	}
	c.text = append(c.text, text...)
	c.ends = append(c.ends, uint32(len(c.text)))
}

// Of returns the comment on frame i, empty if it has none.
func (c *Comments) Of(i int) []byte {
	if i >= len(c.ends) {
		return nil
	}
	from, to := uint32(0), c.ends[i]
	if i > 0 {
		from = c.ends[i-1]
	}
	return c.text[from:to:to]
}

// Size returns how many bytes all comments have.
func (c *Comments) Size() int { return len(c.text) }

// GroupSize is how many packets a task decodes and digests at a time. The arrays in between
// then stay in the first-level cache. It is a multiple of 64, so no two groups share a word of
// a bitmap.
const GroupSize = 512

// Groups iterates over the packets of b in groups of GroupSize, of which the last may be
// smaller: packets from to to-1.
func (b *Batch) Groups() iter.Seq2[int, int] {
	return func(yield func(from, to int) bool) {
		n := len(b.Frames)
		for from := 0; from < n; from += GroupSize {
			if !yield(from, min(from+GroupSize, n)) {
				return
			}
		}
	}
}

// Resize returns s with n elements of no particular values. It allocates only where s has less
// capacity, and then some more than n.
func Resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, n+n/8)
	}
	return s[:n]
}

// Zeroed is Resize to zero values.
func Zeroed[T any](s []T, n int) []T {
	s = Resize(s, n)
	clear(s)
	return s
}
