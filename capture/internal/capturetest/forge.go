// Package capturetest forges captures for tests, and reads them in a simple way. It opens
// nothing by itself, so that the tests of all packages that read and write can use it.
package capturetest

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/encoding"
)

type ByteOrder interface {
	binary.ByteOrder
	binary.AppendByteOrder
}

// Forge builds capture files piece by piece: headers, blocks and records.
type Forge struct {
	Order  ByteOrder
	Pieces [][]byte
	Packet []bool // by piece
}

func (g *Forge) add(packet bool, p []byte) {
	g.Pieces = append(g.Pieces, p)
	g.Packet = append(g.Packet, packet)
}

// Bytes returns the file.
func (g *Forge) Bytes() []byte { return bytes.Join(g.Pieces, nil) }

// U16 appends integers to p.
func (g *Forge) U16(p []byte, v ...uint16) []byte {
	for _, x := range v {
		p = g.Order.AppendUint16(p, x)
	}
	return p
}

// U32 appends integers to p.
func (g *Forge) U32(p []byte, v ...uint32) []byte {
	for _, x := range v {
		p = g.Order.AppendUint32(p, x)
	}
	return p
}

// PcapHeader begins a pcap file of version 2.minor.
func (g *Forge) PcapHeader(magic uint32, minor uint16, snapLen, link uint32) {
	p := g.U16(g.U32(nil, magic), 2, minor)
	g.add(false, g.U32(p, 0, 0, snapLen, link))
}

// Record adds a pcap record; extra are the bytes that the modified format has
// behind the lengths.
func (g *Forge) Record(seconds, fraction uint32, data []byte, wireLen uint32, extra ...byte) {
	p := g.U32(nil, seconds, fraction, uint32(len(data)), wireLen)
	g.add(true, append(append(p, extra...), data...))
}

// Block adds a pcapng block.
func (g *Forge) Block(kind uint32, body ...[]byte) {
	b := bytes.Join(body, nil)
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	n := uint32(len(b)) + 12
	p := append(g.U32(nil, kind, n), b...)
	g.add(kind == capture.BlockEnhancedPacket || kind == capture.BlockPacket || kind == capture.BlockSimplePacket, g.U32(p, n))
}

// Option returns an option with its padding.
func (g *Forge) Option(code uint16, value []byte) []byte {
	p := append(g.U16(nil, code, uint16(len(value))), value...)
	for len(p)%4 != 0 {
		p = append(p, 0)
	}
	return p
}

// Option64 returns an option that holds a number of 64 bits.
func (g *Forge) Option64(code uint16, v uint64) []byte {
	return g.Option(code, g.Order.AppendUint64(nil, v))
}

// End returns the end of an option list.
func (g *Forge) End() []byte { return g.U16(nil, 0, 0) }

// Section adds a section header that says this length.
func (g *Forge) Section(length uint64) {
	p := g.U16(g.U32(nil, encoding.ByteOrderMagic), 1, 0)
	g.Block(capture.BlockSectionHeader, g.Order.AppendUint64(p, length), g.Option(encoding.OptUserAppl, []byte("forge")), g.End())
}

// Iface adds an interface description.
func (g *Forge) Iface(link uint16, snapLen uint32, options ...[]byte) {
	g.Block(capture.BlockInterface, g.U32(g.U16(nil, link, 0), snapLen), bytes.Join(options, nil))
}

func padded(data []byte) []byte {
	return append(bytes.Clone(data), make([]byte, -len(data)&3)...)
}

// Enhanced adds an enhanced packet block.
func (g *Forge) Enhanced(id uint32, ticks uint64, data []byte, wireLen uint32, options ...[]byte) {
	head := g.U32(nil, id, uint32(ticks>>32), uint32(ticks), uint32(len(data)), wireLen)
	g.Block(capture.BlockEnhancedPacket, head, padded(data), bytes.Join(options, nil))
}

// Obsolete adds an obsolete packet block.
func (g *Forge) Obsolete(id, drops uint16, ticks uint64, data []byte, wireLen uint32, options ...[]byte) {
	head := g.U32(g.U16(nil, id, drops), uint32(ticks>>32), uint32(ticks), uint32(len(data)), wireLen)
	g.Block(capture.BlockPacket, head, padded(data), bytes.Join(options, nil))
}

// Simple adds a simple packet block.
func (g *Forge) Simple(data []byte) {
	g.Block(capture.BlockSimplePacket, g.U32(nil, uint32(len(data))), data)
}

// PcapKinds are all kinds of pcap files.
var PcapKinds = []struct {
	Name  string
	Magic uint32
	minor uint16
	order ByteOrder
	extra int
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
func Pcap(kind int, n int, link, snapLen uint32) *Forge {
	k := PcapKinds[kind]
	g := &Forge{Order: k.order}
	g.PcapHeader(k.Magic, k.minor, snapLen, link)
	r := rand.New(rand.NewPCG(uint64(kind), uint64(n)))
	for i := range n {
		data := make([]byte, r.IntN(120))
		for j := range data {
			data[j] = byte(r.Uint32())
		}
		if i%50 == 17 {
			data = make([]byte, 64<<10+r.IntN(100))
		}
		g.Record(uint32(1_600_000_000+i), uint32(r.IntN(1_000_000)), data, uint32(len(data)+i%3), make([]byte, k.extra)...)
	}
	return g
}

// PcapNG makes a pcapng file with every kind of block. Its content does not
// depend on the byte order.
func PcapNG(order ByteOrder, n int) *Forge {
	g := &Forge{Order: order}
	r := rand.New(rand.NewPCG(5, uint64(n)))
	for section := range 2 {
		g.Section([]uint64{encoding.UnknownLength, 4096}[section])
		g.Iface(1, 0,
			g.Option(encoding.OptName, []byte("eth0")), g.Option64(encoding.OptSpeed, 1e9), g.Option(encoding.OptTSResol, []byte{9}),
			g.Option(encoding.OptZone, g.U32(nil, 3600)), g.Option(encoding.OptCustomData, g.U32(nil, 32473)), g.End())
		g.Block(capture.BlockNameResolution, g.U16(nil, 1, 9), []byte("\x0a\x00\x00\x01host\x00\x00\x00\x00"),
			g.U16(nil, 0, 0), g.Option(encoding.OptComment, []byte("names")), g.End())
		g.Block(capture.BlockDecryption, g.U32(nil, 0x544c534b, 5), []byte("keys!\x00\x00\x00"), g.Option(encoding.OptComment, []byte("keys")), g.End())
		g.Iface(1, 262144, g.Option(encoding.OptTSResol, []byte{0x94}), g.Option64(encoding.OptTSOffset, 1000), g.End())
		for i := range n {
			data := make([]byte, 1+r.IntN(90))
			data[0] = byte(i)
			wire := uint32(len(data) + i%2)
			at := uint64(1_600_000_000 + n*section + i)
			switch i % 5 {
			case 0:
				g.Enhanced(0, at*1e9+7, data, wire, g.Option(encoding.OptFlags, g.U32(nil, 0x11)), g.Option64(encoding.OptDropCount, 3),
					g.Option64(encoding.OptPacketID, 99), g.Option(encoding.OptQueue, g.U32(nil, 2)), g.Option(encoding.OptComment, []byte("c")), g.End())
			case 1:
				g.Enhanced(1, (at-1000)<<20+1, data, wire)
			case 2:
				g.Obsolete(1, uint16(i), (at-1000)<<20+2, data, wire, g.Option(encoding.OptFlags, g.U32(nil, 2)), g.End())
			case 3:
				g.Obsolete(0, 0xFFFF, at*1e9+8, data, wire)
			case 4:
				g.Simple(data)
			}
		}
		g.Block(capture.BlockCustom, g.U32(nil, 32473), []byte("payload"))
		g.Block(capture.BlockCustomNoCopy, g.U32(nil, 32473), []byte("do not copy"))
		g.Block(capture.BlockJournal, []byte("__REALTIME_TIMESTAMP=1600000000000000\nMESSAGE=x\n"))
		g.Block(capture.BlockStatistics, g.U32(nil, 1, 0, 5), g.Option(encoding.OptStatStart, g.U32(nil, 1, 2)), g.Option64(4, 100), g.End())
	}
	return g
}

// SmallPackets makes a pcap file of 7000 packets of 60 bytes, about as much as a batch of
// the readers holds.
func SmallPackets() *Forge {
	g := &Forge{Order: binary.LittleEndian}
	g.PcapHeader(0xA1B23C4D, 4, 262144, 1)
	for i := range 7000 {
		g.Record(uint32(i), 0, make([]byte, 60), 60)
	}
	return g
}

// NoCopy makes a file with options in every block that may have them; secret adds
// blocks and options that are not to be copied.
func NoCopy(order ByteOrder, secret bool) []byte {
	g := &Forge{Order: order}
	text := g.Option(encoding.OptComment, []byte("comment"))
	hidden := func(values ...string) []byte {
		var list []byte
		for i, v := range values {
			if secret {
				list = append(list, g.Option(encoding.OptCustomTextOnce+uint16(i&1), append(g.U32(nil, 32473), v...))...)
			}
		}
		return list
	}
	block := func() {
		if secret {
			g.Block(capture.BlockCustomNoCopy, g.U32(nil, 32473), []byte("secret block"))
		}
	}
	head := g.Order.AppendUint64(g.U16(g.U32(nil, encoding.ByteOrderMagic), 1, 0), encoding.UnknownLength)
	g.Block(capture.BlockSectionHeader, head, hidden("secret"), text, hidden("secret 2", "secret data"), g.End())
	block()
	g.Block(capture.BlockInterface, g.U32(g.U16(nil, 1, 0), 0), text, hidden("secret"))
	g.Block(capture.BlockNameResolution, g.U16(nil, 1, 9), []byte("\x0a\x00\x00\x01host\x00\x00\x00\x00"), g.U16(nil, 0, 0), hidden("secret"), text, g.End())
	g.Block(capture.BlockDecryption, g.U32(nil, 7, 5), []byte("keys!\x00\x00\x00"), hidden("secret", "secret"), g.End())
	for i := range uint64(50) {
		g.Enhanced(0, i, []byte("packet")[:i%7], 6, text, hidden("secret of a packet"), g.Option(encoding.OptCustomText, g.U32(nil, 1)), g.End())
		g.Enhanced(0, i, []byte("plain"), 5)
		g.Obsolete(0, 1, i, []byte("old"), 3, hidden("secret"), text)
		block()
		g.Enhanced(0, i, []byte("alone"), 5, hidden("secret"))
	}
	g.Block(capture.BlockStatistics, g.U32(nil, 0, 0, 5), hidden("secret", "secret"), g.Option64(4, 100), hidden("secret"), g.End())
	g.Block(capture.BlockCustom, g.U32(nil, 32473), []byte("payload"))
	return g.Bytes()
}
