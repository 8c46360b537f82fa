// Package forge builds capture files piece by piece, for tests: also those that no program
// writes. It knows nothing of how package capture reads and writes them.
package forge

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
)

// LongPacket is more than what package capture gathers before it writes.
const LongPacket = 64 << 10

// UnknownLength is the section length that says nothing.
const UnknownLength = ^uint64(0)

const byteOrderMagic = 0x1A2B3C4D

// Types of pcapng blocks.
const (
	blockInterface      = 1
	blockPacket         = 2
	blockSimplePacket   = 3
	blockNameResolution = 4
	blockStatistics     = 5
	blockEnhancedPacket = 6
	Journal             = 9 // of systemd
	blockDecryption     = 10
	blockCustom         = 0xBAD
	blockCustomNoCopy   = 0x40000BAD
	blockSectionHeader  = 0x0A0D0D0A
)

// Options of pcapng blocks.
const (
	optComment        = 1
	optCustomText     = 2988
	optCustomData     = 2989
	optCustomTextOnce = 19372 // not to be copied

	optUserAppl = 4 // section header

	optName     = 2 // interface description
	optSpeed    = 8
	TSResol     = 9
	optZone     = 10
	optTSOffset = 14

	optFlags     = 2 // packets
	optDropCount = 4
	optPacketID  = 5
	optQueue     = 6

	optStatStart = 2 // statistics
)

// Order is the byte order of a file.
type Order interface {
	binary.ByteOrder
	binary.AppendByteOrder
}

// File is a capture file: headers, blocks and records.
type File struct {
	Order  Order
	Pieces [][]byte
	Packet []bool // by piece
}

func (g *File) add(packet bool, p []byte) {
	g.Pieces = append(g.Pieces, p)
	g.Packet = append(g.Packet, packet)
}

// Bytes returns the whole file.
func (g *File) Bytes() []byte { return bytes.Join(g.Pieces, nil) }

// U16 appends integers to p.
func (g *File) U16(p []byte, v ...uint16) []byte {
	for _, x := range v {
		p = g.Order.AppendUint16(p, x)
	}
	return p
}

// U32 appends integers to p.
func (g *File) U32(p []byte, v ...uint32) []byte {
	for _, x := range v {
		p = g.Order.AppendUint32(p, x)
	}
	return p
}

// PcapHeader begins a pcap file of version 2.minor.
func (g *File) PcapHeader(magic uint32, minor uint16, snapLen, link uint32) {
	p := g.U16(g.U32(nil, magic), 2, minor)
	g.add(false, g.U32(p, 0, 0, snapLen, link))
}

// Record adds a pcap record; extra are the bytes that the modified format has
// behind the lengths.
func (g *File) Record(seconds, fraction uint32, data []byte, wireLen uint32, extra ...byte) {
	p := g.U32(nil, seconds, fraction, uint32(len(data)), wireLen)
	g.add(true, append(append(p, extra...), data...))
}

// Block adds a pcapng block.
func (g *File) Block(kind uint32, body ...[]byte) {
	b := bytes.Join(body, nil)
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	n := uint32(len(b)) + 12
	p := append(g.U32(nil, kind, n), b...)
	g.add(kind == blockEnhancedPacket || kind == blockPacket || kind == blockSimplePacket, g.U32(p, n))
}

// Option returns an option of a pcapng block.
func (g *File) Option(code uint16, value []byte) []byte {
	p := append(g.U16(nil, code, uint16(len(value))), value...)
	for len(p)%4 != 0 {
		p = append(p, 0)
	}
	return p
}

// Option64 returns an option that is a number.
func (g *File) Option64(code uint16, v uint64) []byte {
	return g.Option(code, g.Order.AppendUint64(nil, v))
}

// End returns the end of a list of options.
func (g *File) End() []byte { return g.U16(nil, 0, 0) }

// Section adds a section header block with the given section length.
func (g *File) Section(length uint64) {
	p := g.U16(g.U32(nil, byteOrderMagic), 1, 0)
	g.Block(blockSectionHeader, g.Order.AppendUint64(p, length), g.Option(optUserAppl, []byte("forge")), g.End())
}

// Interface adds an interface description block.
func (g *File) Interface(link uint16, snapLen uint32, options ...[]byte) {
	g.Block(blockInterface, g.U32(g.U16(nil, link, 0), snapLen), bytes.Join(options, nil))
}

func padded(data []byte) []byte {
	return append(bytes.Clone(data), make([]byte, -len(data)&3)...)
}

// Enhanced adds an enhanced packet block.
func (g *File) Enhanced(id uint32, ticks uint64, data []byte, wireLen uint32, options ...[]byte) {
	head := g.U32(nil, id, uint32(ticks>>32), uint32(ticks), uint32(len(data)), wireLen)
	g.Block(blockEnhancedPacket, head, padded(data), bytes.Join(options, nil))
}

// Obsolete adds a packet block, which the enhanced one has replaced.
func (g *File) Obsolete(id, drops uint16, ticks uint64, data []byte, wireLen uint32, options ...[]byte) {
	head := g.U32(g.U16(nil, id, drops), uint32(ticks>>32), uint32(ticks), uint32(len(data)), wireLen)
	g.Block(blockPacket, head, padded(data), bytes.Join(options, nil))
}

// Simple adds a simple packet block.
func (g *File) Simple(data []byte) {
	g.Block(blockSimplePacket, g.U32(nil, uint32(len(data))), data)
}

// PcapKinds are all kinds of pcap files.
var PcapKinds = []struct {
	Name  string
	Magic uint32
	Minor uint16
	Order Order
	Extra int // bytes behind the lengths of a record
}{
	{"le-us", 0xA1B2C3D4, 4, binary.LittleEndian, 0},
	{"le-ns", 0xA1B23C4D, 4, binary.LittleEndian, 0},
	{"be-us", 0xA1B2C3D4, 4, binary.BigEndian, 0},
	{"be-ns", 0xA1B23C4D, 4, binary.BigEndian, 0},
	{"le-modified", 0xA1B2CD34, 4, binary.LittleEndian, 8},
	{"be-modified", 0xA1B2CD34, 4, binary.BigEndian, 8},
	{"le-2.3", 0xA1B2C3D4, 3, binary.LittleEndian, 0},
}

// Pcap makes a pcap file of n packets with times that rise by a second.
func Pcap(kind int, n int, link, snapLen uint32) *File {
	k := PcapKinds[kind]
	g := &File{Order: k.Order}
	g.PcapHeader(k.Magic, k.Minor, snapLen, link)
	r := rand.New(rand.NewPCG(uint64(kind), uint64(n)))
	for i := range n {
		data := make([]byte, r.IntN(120))
		for j := range data {
			data[j] = byte(r.Uint32())
		}
		if i%50 == 17 {
			data = make([]byte, LongPacket+r.IntN(100))
		}
		g.Record(uint32(1_600_000_000+i), uint32(r.IntN(1_000_000)), data, uint32(len(data)+i%3), make([]byte, k.Extra)...)
	}
	return g
}

// NG makes a pcapng file with every kind of block. Its content does not
// depend on the byte order.
func NG(order Order, n int) *File {
	g := &File{Order: order}
	r := rand.New(rand.NewPCG(5, uint64(n)))
	for section := range 2 {
		g.Section([]uint64{UnknownLength, 4096}[section])
		g.Interface(1, 0,
			g.Option(optName, []byte("eth0")), g.Option64(optSpeed, 1e9), g.Option(TSResol, []byte{9}),
			g.Option(optZone, g.U32(nil, 3600)), g.Option(optCustomData, g.U32(nil, 32473)), g.End())
		g.Block(blockNameResolution, g.U16(nil, 1, 9), []byte("\x0a\x00\x00\x01host\x00\x00\x00\x00"),
			g.U16(nil, 0, 0), g.Option(optComment, []byte("names")), g.End())
		g.Block(blockDecryption, g.U32(nil, 0x544c534b, 5), []byte("keys!\x00\x00\x00"), g.Option(optComment, []byte("keys")), g.End())
		g.Interface(1, 262144, g.Option(TSResol, []byte{0x94}), g.Option64(optTSOffset, 1000), g.End())
		for i := range n {
			data := make([]byte, 1+r.IntN(90))
			data[0] = byte(i)
			wire := uint32(len(data) + i%2)
			at := uint64(1_600_000_000 + n*section + i)
			switch i % 5 {
			case 0:
				g.Enhanced(0, at*1e9+7, data, wire, g.Option(optFlags, g.U32(nil, 0x11)), g.Option64(optDropCount, 3),
					g.Option64(optPacketID, 99), g.Option(optQueue, g.U32(nil, 2)), g.Option(optComment, []byte("c")), g.End())
			case 1:
				g.Enhanced(1, (at-1000)<<20+1, data, wire)
			case 2:
				g.Obsolete(1, uint16(i), (at-1000)<<20+2, data, wire, g.Option(optFlags, g.U32(nil, 2)), g.End())
			case 3:
				g.Obsolete(0, 0xFFFF, at*1e9+8, data, wire)
			case 4:
				g.Simple(data)
			}
		}
		g.Block(blockCustom, g.U32(nil, 32473), []byte("payload"))
		g.Block(blockCustomNoCopy, g.U32(nil, 32473), []byte("do not copy"))
		g.Block(Journal, []byte("__REALTIME_TIMESTAMP=1600000000000000\nMESSAGE=x\n"))
		g.Block(blockStatistics, g.U32(nil, 1, 0, 5), g.Option(optStatStart, g.U32(nil, 1, 2)), g.Option64(4, 100), g.End())
	}
	return g
}

// SmallPackets makes a pcap file of 7000 packets of 60 bytes, about as much as a batch of
// the readers holds.
func SmallPackets() *File {
	g := &File{Order: binary.LittleEndian}
	g.PcapHeader(0xA1B23C4D, 4, 262144, 1)
	for i := range 7000 {
		g.Record(uint32(i), 0, make([]byte, 60), 60)
	}
	return g
}
