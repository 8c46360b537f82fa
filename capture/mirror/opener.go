// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"errors"
	"net/netip"
	"sync/atomic"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/internal/encoding"
)

// opener takes the packets out of the datagrams of a target. It is for one goroutine at a time.
type opener struct {
	target  *Target
	number  int // of the target
	table   *pointTable
	tunnels headers.Decapsulator
	counts  openerCounts
	packet  []byte // that was made of a datagram

	last  iface  // of the packet before, as packets of one point come in runs
	iface uint32 // its number
	known bool
}

// openerCounts are read by other goroutines.
type openerCounts struct {
	malformed                     [reasons]atomic.Uint64
	control, unwanted             atomic.Uint64
	datagrams, packets, truncated atomic.Uint64
}

// open appends the packet of a datagram to a batch.
func (o *opener) open(b *capture.Batch, datagram []byte, from netip.AddrPort, time int64) {
	if o.target.kind == &datagrams {
		o.packet = encoding.AppendDatagram(o.packet[:0], from, datagram)
		datagram = o.packet
	}
	in, err := o.read(datagram)
	if err != nil {
		o.refuse(err)
		return
	}
	at := iface{origin{target: o.number, kind: in.Kind, id: in.ID}, in.Link}
	if in.Kind == 0 && o.target.kind != &datagrams {
		at.point.from = from.Addr()
	}
	if !o.target.wants(in.ID) {
		o.counts.unwanted.Add(1)
		return
	}
	if !o.known || at != o.last {
		o.last, o.iface, o.known = at, o.table.find(at), true
		if int(o.iface) >= len(b.Interfaces) {
			b.Interfaces = o.table.all()
		}
	}
	data := datagram[in.At:]
	if len(data) > o.table.snapLen {
		data = data[:o.table.snapLen]
	}
	if uint32(len(data)) < in.Wire {
		o.counts.truncated.Add(1)
	}
	b.Append(capture.Frame{Time: time, WireLen: in.Wire, Interface: o.iface}, data)
}

// read finds the packet of a datagram.
func (o *opener) read(datagram []byte) (headers.Inside, error) {
	switch {
	case o.target.kind == &datagrams:
		return headers.Inside{Link: capture.LinkRaw, Wire: uint32(len(datagram))}, nil
	case o.target.kind.layer == 0:
		return headers.ReadTZSP(datagram)
	}
	return o.tunnels.Read(o.target.kind.layer, datagram)
}

// refuse counts a datagram without a packet.
func (o *opener) refuse(err error) {
	switch {
	case errors.Is(err, headers.ErrTunnelControl):
		o.counts.control.Add(1)
	case errors.Is(err, headers.ErrTunnelContent):
		o.counts.malformed[badContent].Add(1)
	default:
		o.counts.malformed[badHeader].Add(1)
	}
}
