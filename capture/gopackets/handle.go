// SPDX-License-Identifier: Apache-2.0

package gopackets

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/google/gopacket/pcapgo"

	"github.com/flowdedup/flowdedup/capture"
)

// ZeroCopy makes a PacketDataSource of a source that is only a ZeroCopyPacketDataSource.
func ZeroCopy(src gopacket.ZeroCopyPacketDataSource) gopacket.PacketDataSource { return zeroCopy{src} }

type zeroCopy struct {
	gopacket.ZeroCopyPacketDataSource
}

func (z zeroCopy) ReadPacketData() ([]byte, gopacket.CaptureInfo, error) {
	data, info, err := z.ZeroCopyReadPacketData()
	info.AncillaryData = slices.Clone(info.AncillaryData)
	return bytes.Clone(data), info, err
}

// handle reads packets, and numbers the interfaces that they come from.
type handle struct {
	src     gopacket.PacketDataSource
	read    func() ([]byte, gopacket.CaptureInfo, error)
	borrows bool // data is valid until the next read only
	link    capture.LinkType

	numbers  map[ifaceKey]uint32
	last     ifaceKey
	number   uint32 // of last
	ifaces   []capture.Interface
	sections []capture.Section
}

// ifaceKey identifies an interface.
type ifaceKey struct {
	index int
	link  capture.LinkType
}

// newHandle returns the handle of src. A link type of 0 stands for src's link type, or
// Ethernet.
func newHandle(src gopacket.PacketDataSource, link capture.LinkType) *handle {
	h := &handle{src: src, read: src.ReadPacketData, link: link, numbers: map[ifaceKey]uint32{}}
	if z, ok := src.(gopacket.ZeroCopyPacketDataSource); ok {
		h.read, h.borrows = z.ZeroCopyReadPacketData, true
	}
	return h
}

// begin empties a batch, and gives it the tables of interfaces.
func (h *handle) begin(b *capture.Batch) {
	b.Reset()
	b.Interfaces, b.Sections = h.ifaces, h.sections
}

// end takes the tables of interfaces from a batch.
func (h *handle) end(b *capture.Batch) {
	h.ifaces, h.sections = b.Interfaces, b.Sections
	b.Interfaces, b.Sections = slices.Clip(b.Interfaces), slices.Clip(b.Sections)
}

// add adds a packet to a batch.
func (h *handle) add(b *capture.Batch, data []byte, info *gopacket.CaptureInfo) {
	at := ifaceKey{info.InterfaceIndex, h.linkOf(info)}
	if at != h.last || len(b.Interfaces) == 0 {
		h.last, h.number = at, h.find(b, at)
	}
	wire := min(uint64(max(info.Length, 0)), math.MaxUint32)
	b.Append(capture.Frame{Time: nanoseconds(info.Timestamp), WireLen: uint32(wire), Interface: h.number}, data)
}

// linkOf returns the link type of a packet: its interface's if the handle gives it
// (pcapgo.NgReaderOptions.WantMixedLinkType), else the handle's.
func (h *handle) linkOf(info *gopacket.CaptureInfo) capture.LinkType {
	if len(info.AncillaryData) > 0 {
		if link, ok := info.AncillaryData[0].(layers.LinkType); ok {
			return capture.LinkType(link)
		}
	}
	if h.link == 0 {
		h.link = capture.LinkEthernet
		if src, ok := h.src.(interface{ LinkType() layers.LinkType }); ok {
			h.link = capture.LinkType(src.LinkType())
		}
	}
	return h.link
}

// find returns the number of an interface. It describes a new interface in b.
func (h *handle) find(b *capture.Batch, at ifaceKey) uint32 {
	n, ok := h.numbers[at]
	if !ok {
		it := capture.Interface{LinkType: at.link, Name: fmt.Sprintf("interface %d", at.index)}
		if ng, ok := h.src.(*pcapgo.NgReader); ok {
			if known, err := ng.Interface(at.index); err == nil && known.Name != "" {
				it.Name = known.Name
			}
		}
		n = b.AppendInterface(it)
		h.numbers[at] = n
	}
	return n
}

// nanoseconds returns a time for a capture.Frame: the nearest that 64 bits hold.
func nanoseconds(t time.Time) int64 {
	const most = math.MaxInt64 / int64(time.Second)
	switch s := t.Unix(); {
	case t.IsZero():
		return capture.NoTime
	case s >= most:
		return math.MaxInt64
	case s <= -most:
		return math.MinInt64 + 1
	}
	return t.UnixNano()
}
