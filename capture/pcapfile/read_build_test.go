package pcapfile

import (
	"encoding/binary"
	"slices"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/encoding"
)

// order is a byte order that also appends.
type order interface {
	binary.ByteOrder
	binary.AppendByteOrder
}

func pcapHeader(o order, magic uint32, major, minor uint16, snapLen, link uint32) []byte {
	h := o.AppendUint32(nil, magic)
	h = o.AppendUint16(h, major)
	h = o.AppendUint16(h, minor)
	h = append(h, make([]byte, 8)...)
	return o.AppendUint32(o.AppendUint32(h, snapLen), link)
}

// pcapRecord appends a record header of 16 bytes.
func pcapRecord(out []byte, o order, sec, frac, capLen, wireLen uint32) []byte {
	for _, v := range []uint32{sec, frac, capLen, wireLen} {
		out = o.AppendUint32(out, v)
	}
	return out
}

// ngBlock wraps a body, padded to 4 bytes.
func ngBlock(o order, typ uint32, body []byte) []byte {
	body = append(slices.Clone(body), make([]byte, -len(body)&3)...)
	out := o.AppendUint32(nil, typ)
	out = o.AppendUint32(out, uint32(12+len(body)))
	out = append(out, body...)
	return o.AppendUint32(out, uint32(12+len(body)))
}

// ngOption is one option, padded to 4 bytes.
func ngOption(o order, code uint16, value ...byte) []byte {
	out := o.AppendUint16(nil, code)
	out = o.AppendUint16(out, uint16(len(value)))
	out = append(out, value...)
	return append(out, make([]byte, -len(value)&3)...)
}

func sectionBlock(o order, major, minor uint16, options ...[]byte) []byte {
	body := o.AppendUint32(nil, encoding.ByteOrderMagic)
	body = o.AppendUint16(body, major)
	body = o.AppendUint16(body, minor)
	body = o.AppendUint64(body, 1<<64-1)
	return ngBlock(o, capture.BlockSectionHeader, append(body, slices.Concat(options...)...))
}

func interfaceBlock(o order, link uint16, snapLen uint32, options ...[]byte) []byte {
	body := o.AppendUint16(nil, link)
	body = o.AppendUint16(body, 0)
	body = o.AppendUint32(body, snapLen)
	return ngBlock(o, capture.BlockInterface, append(body, slices.Concat(options...)...))
}

func packetBlock(o order, iface uint32, ticks uint64, wireLen uint32, data []byte, options ...[]byte) []byte {
	body := o.AppendUint32(nil, iface)
	return ngBlock(o, capture.BlockEnhancedPacket, packetBody(o, body, ticks, wireLen, data, options))
}

func obsoletePacketBlock(o order, iface, drops uint16, ticks uint64, wireLen uint32, data []byte, options ...[]byte) []byte {
	body := o.AppendUint16(o.AppendUint16(nil, iface), drops)
	return ngBlock(o, capture.BlockPacket, packetBody(o, body, ticks, wireLen, data, options))
}

func packetBody(o order, body []byte, ticks uint64, wireLen uint32, data []byte, options [][]byte) []byte {
	for _, v := range []uint32{uint32(ticks >> 32), uint32(ticks), uint32(len(data)), wireLen} {
		body = o.AppendUint32(body, v)
	}
	body = append(body, data...)
	body = append(body, make([]byte, -len(data)&3)...)
	return append(body, slices.Concat(options...)...)
}

func simpleBlock(o order, wireLen uint32, data []byte) []byte {
	return ngBlock(o, capture.BlockSimplePacket, append(o.AppendUint32(nil, wireLen), data...))
}
