package capture

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
)

type byteOrder interface {
	binary.ByteOrder
	binary.AppendByteOrder
}

// forge builds capture files piece by piece: headers, blocks and records.
type forge struct {
	order  byteOrder
	pieces [][]byte
	packet []bool // by piece
}

func (g *forge) add(packet bool, p []byte) {
	g.pieces = append(g.pieces, p)
	g.packet = append(g.packet, packet)
}

func (g *forge) bytes() []byte { return bytes.Join(g.pieces, nil) }

func (g *forge) u16(p []byte, v ...uint16) []byte {
	for _, x := range v {
		p = g.order.AppendUint16(p, x)
	}
	return p
}

func (g *forge) u32(p []byte, v ...uint32) []byte {
	for _, x := range v {
		p = g.order.AppendUint32(p, x)
	}
	return p
}

// pcapHeader begins a pcap file of version 2.minor.
func (g *forge) pcapHeader(magic uint32, minor uint16, snapLen, link uint32) {
	p := g.u16(g.u32(nil, magic), 2, minor)
	g.add(false, g.u32(p, 0, 0, snapLen, link))
}

// record adds a pcap record; extra are the bytes that the modified format has
// behind the lengths.
func (g *forge) record(seconds, fraction uint32, data []byte, wireLen uint32, extra ...byte) {
	p := g.u32(nil, seconds, fraction, uint32(len(data)), wireLen)
	g.add(true, append(append(p, extra...), data...))
}

// block adds a pcapng block.
func (g *forge) block(kind uint32, body ...[]byte) {
	b := bytes.Join(body, nil)
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	n := uint32(len(b)) + 12
	p := append(g.u32(nil, kind, n), b...)
	g.add(kind == BlockEnhancedPacket || kind == BlockPacket || kind == BlockSimplePacket, g.u32(p, n))
}

func (g *forge) option(code uint16, value []byte) []byte {
	p := append(g.u16(nil, code, uint16(len(value))), value...)
	for len(p)%4 != 0 {
		p = append(p, 0)
	}
	return p
}

func (g *forge) option64(code uint16, v uint64) []byte {
	return g.option(code, g.order.AppendUint64(nil, v))
}

func (g *forge) end() []byte { return g.u16(nil, 0, 0) }

func (g *forge) section(length uint64) {
	p := g.u16(g.u32(nil, byteOrderMagic), 1, 0)
	g.block(BlockSectionHeader, g.order.AppendUint64(p, length), g.option(optUserAppl, []byte("forge")), g.end())
}

func (g *forge) iface(link uint16, snapLen uint32, options ...[]byte) {
	g.block(BlockInterface, g.u32(g.u16(nil, link, 0), snapLen), bytes.Join(options, nil))
}

func padded(data []byte) []byte {
	return append(bytes.Clone(data), make([]byte, -len(data)&3)...)
}

func (g *forge) enhanced(id uint32, ticks uint64, data []byte, wireLen uint32, options ...[]byte) {
	head := g.u32(nil, id, uint32(ticks>>32), uint32(ticks), uint32(len(data)), wireLen)
	g.block(BlockEnhancedPacket, head, padded(data), bytes.Join(options, nil))
}

func (g *forge) obsolete(id, drops uint16, ticks uint64, data []byte, wireLen uint32, options ...[]byte) {
	head := g.u32(g.u16(nil, id, drops), uint32(ticks>>32), uint32(ticks), uint32(len(data)), wireLen)
	g.block(BlockPacket, head, padded(data), bytes.Join(options, nil))
}

func (g *forge) simple(data []byte) {
	g.block(BlockSimplePacket, g.u32(nil, uint32(len(data))), data)
}

// pcapKinds are all kinds of pcap files.
var pcapKinds = []struct {
	name  string
	magic uint32
	minor uint16
	order byteOrder
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

// forgePcap makes a pcap file of n packets with times that rise by a second.
func forgePcap(kind int, n int, link, snapLen uint32) *forge {
	k := pcapKinds[kind]
	g := &forge{order: k.order}
	g.pcapHeader(k.magic, k.minor, snapLen, link)
	r := rand.New(rand.NewPCG(uint64(kind), uint64(n)))
	for i := range n {
		data := make([]byte, r.IntN(120))
		for j := range data {
			data[j] = byte(r.Uint32())
		}
		if i%50 == 17 {
			data = make([]byte, 64<<10+r.IntN(100))
		}
		g.record(uint32(1_600_000_000+i), uint32(r.IntN(1_000_000)), data, uint32(len(data)+i%3), make([]byte, k.extra)...)
	}
	return g
}

// forgeNG makes a pcapng file with every kind of block. Its content does not
// depend on the byte order.
func forgeNG(order byteOrder, n int) *forge {
	g := &forge{order: order}
	r := rand.New(rand.NewPCG(5, uint64(n)))
	for section := range 2 {
		g.section([]uint64{unknownLength, 4096}[section])
		g.iface(1, 0,
			g.option(optName, []byte("eth0")), g.option64(optSpeed, 1e9), g.option(optTSResol, []byte{9}),
			g.option(optZone, g.u32(nil, 3600)), g.option(optCustomData, g.u32(nil, 32473)), g.end())
		g.block(BlockNameResolution, g.u16(nil, 1, 9), []byte("\x0a\x00\x00\x01host\x00\x00\x00\x00"),
			g.u16(nil, 0, 0), g.option(optComment, []byte("names")), g.end())
		g.block(BlockDecryption, g.u32(nil, 0x544c534b, 5), []byte("keys!\x00\x00\x00"), g.option(optComment, []byte("keys")), g.end())
		g.iface(1, 262144, g.option(optTSResol, []byte{0x94}), g.option64(optTSOffset, 1000), g.end())
		for i := range n {
			data := make([]byte, 1+r.IntN(90))
			data[0] = byte(i)
			wire := uint32(len(data) + i%2)
			at := uint64(1_600_000_000 + n*section + i)
			switch i % 5 {
			case 0:
				g.enhanced(0, at*1e9+7, data, wire, g.option(optFlags, g.u32(nil, 0x11)), g.option64(optDropCount, 3),
					g.option64(optPacketID, 99), g.option(optQueue, g.u32(nil, 2)), g.option(optComment, []byte("c")), g.end())
			case 1:
				g.enhanced(1, (at-1000)<<20+1, data, wire)
			case 2:
				g.obsolete(1, uint16(i), (at-1000)<<20+2, data, wire, g.option(optFlags, g.u32(nil, 2)), g.end())
			case 3:
				g.obsolete(0, 0xFFFF, at*1e9+8, data, wire)
			case 4:
				g.simple(data)
			}
		}
		g.block(BlockCustom, g.u32(nil, 32473), []byte("payload"))
		g.block(BlockCustomNoCopy, g.u32(nil, 32473), []byte("do not copy"))
		g.block(BlockJournal, []byte("__REALTIME_TIMESTAMP=1600000000000000\nMESSAGE=x\n"))
		g.block(BlockStatistics, g.u32(nil, 1, 0, 5), g.option(optStatStart, g.u32(nil, 1, 2)), g.option64(4, 100), g.end())
	}
	return g
}

// forgeSmall makes a pcap file of 7000 packets of 60 bytes, about as much as a batch of
// the readers holds.
func forgeSmall() *forge {
	g := &forge{order: binary.LittleEndian}
	g.pcapHeader(0xA1B23C4D, 4, 262144, 1)
	for i := range 7000 {
		g.record(uint32(i), 0, make([]byte, 60), 60)
	}
	return g
}

// forgeNoCopy makes a file with options in every block that may have them; secret adds
// blocks and options that are not to be copied.
func forgeNoCopy(order byteOrder, secret bool) []byte {
	g := &forge{order: order}
	text := g.option(optComment, []byte("comment"))
	hidden := func(values ...string) []byte {
		var list []byte
		for i, v := range values {
			if secret {
				list = append(list, g.option(optCustomTextOnce+uint16(i&1), append(g.u32(nil, 32473), v...))...)
			}
		}
		return list
	}
	block := func() {
		if secret {
			g.block(BlockCustomNoCopy, g.u32(nil, 32473), []byte("secret block"))
		}
	}
	head := g.order.AppendUint64(g.u16(g.u32(nil, byteOrderMagic), 1, 0), unknownLength)
	g.block(BlockSectionHeader, head, hidden("secret"), text, hidden("secret 2", "secret data"), g.end())
	block()
	g.block(BlockInterface, g.u32(g.u16(nil, 1, 0), 0), text, hidden("secret"))
	g.block(BlockNameResolution, g.u16(nil, 1, 9), []byte("\x0a\x00\x00\x01host\x00\x00\x00\x00"), g.u16(nil, 0, 0), hidden("secret"), text, g.end())
	g.block(BlockDecryption, g.u32(nil, 7, 5), []byte("keys!\x00\x00\x00"), hidden("secret", "secret"), g.end())
	for i := range uint64(50) {
		g.enhanced(0, i, []byte("packet")[:i%7], 6, text, hidden("secret of a packet"), g.option(optCustomText, g.u32(nil, 1)), g.end())
		g.enhanced(0, i, []byte("plain"), 5)
		g.obsolete(0, 1, i, []byte("old"), 3, hidden("secret"), text)
		block()
		g.enhanced(0, i, []byte("alone"), 5, hidden("secret"))
	}
	g.block(BlockStatistics, g.u32(nil, 0, 0, 5), hidden("secret", "secret"), g.option64(4, 100), hidden("secret"), g.end())
	g.block(BlockCustom, g.u32(nil, 32473), []byte("payload"))
	return g.bytes()
}
