// SPDX-License-Identifier: Apache-2.0

package keys

import (
	"encoding/binary"
	"math"

	"github.com/flowdedup/flowdedup/asm/digest"
	kernels "github.com/flowdedup/flowdedup/asm/headers"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/internal/iana"
)

// placer finds the datagrams that need no Header, behind labels too. It opens tunnels only for keys
// without a VLAN: which tag counts depends on the headers on the way.
type placer struct {
	opens              bool
	datagrams, untyped *kernels.Datagrams
	deeper             headers.Deeper
	protocols          []headers.Protocol
	slow               []uint64
}

// mask6 leaves room in the tweak of IPv6 for the protocol.
const mask6 = 0xf00fffff_00000000

// newPlacer returns a placer that opens tunnels, or leaves tunnels to d.
func newPlacer(d *headers.Decoder, opens bool) *placer {
	deeper := d.Deeper()
	if opens {
		d = new(headers.Decoder)
	}
	found := kernels.NewDatagrams(math.MaxUint64, mask6, d.SlowProtocols())
	return &placer{opens: opens, deeper: deeper, datagrams: headers.BehindLabels(found), untyped: found.Untyped()}
}

// place replaces messages, which are frames of a link type, by the datagrams in them. headers.PlaceIP
// has placed frames without Ethernet.
func (p *placer) place(msgs []digest.Message, link capture.LinkType, buf []byte) {
	rule := p.datagrams
	if link != capture.LinkEthernet {
		rule = p.untyped
	}
	p.protocols, p.slow = capture.Resize(p.protocols, len(msgs)), capture.Resize(p.slow, (len(msgs)+63)/64)
	kernels.FindDatagrams(rule, msgs, p.protocols, p.slow, buf)
	if p.opens {
		p.deeper.Into(p.untyped, msgs, p.protocols, p.slow, buf)
	}
}

// needsHeader reports whether message i, which place has left, is to be decoded: it is no datagram,
// a fragment, or was truncated over IPv6.
func (p *placer) needsHeader(m *digest.Message, i int) bool {
	const fragment, truncated6 = 0x3fff, 7
	version := m.Tweak >> 60
	return capture.IsSet(p.slow, i) || version == truncated6 || version == 4 && m.Tweak&fragment != 0
}

// listPlaced adds the frames from number at to end-1, of one link type, to the lists.
func (k *Keyer) listPlaced(link capture.LinkType, b *capture.Batch, from, at, end int) {
	msgs := k.msgs[at:end]
	k.placer.place(msgs, link, b.Buf)
	for i := 0; i < len(msgs); {
		found, n := i+k.listFound(msgs, i, at, b.Buf), 0
		if k.tagged && link == capture.LinkEthernet {
			k.addTags(b, from, at+i)
		}
		for i = found; i+n < len(msgs) && k.placer.needsHeader(&msgs[i+n], i+n); n++ {
		}
		if n > 0 {
			k.listRead(b, from, at+i, at+i+n)
			i += n
		}
	}
}

// addTags adds the outermost VLAN tags of the frames from number at on to their tails, which are
// the last of the lists.
func (k *Keyer) addTags(b *capture.Batch, from, at int) {
	for _, l := range []*kernels.TupleList{&k.four, &k.six} {
		for i := len(l.Frame) - 1; i >= 0 && int(l.Frame[i]) >= at; i-- {
			frame := b.Data(from + int(l.Frame[i]))
			if iana.IsVLAN(binary.BigEndian.Uint16(frame[12:])) {
				l.Tail[i] |= 1<<16 | uint64(binary.BigEndian.Uint16(frame[14:])&0xfff)
			}
		}
	}
}

// listFound adds messages from number i on to the lists, up to a message that needs a header, and
// returns how many. Message 0 is frame first. As in split, each is written to both lists.
func (k *Keyer) listFound(msgs []digest.Message, i, first int, buf []byte) (n int) {
	const start, header4, header6 = 12, 20, 40 // of a message in its datagram
	four, six := k.four, k.six
	n4, n6 := len(four.Frame), len(six.Frame)
	four.Resize(n4 + len(msgs) - i)
	six.Resize(n6 + len(msgs) - i)
	for ; i+n < len(msgs); n++ {
		m := &msgs[i+n]
		if k.placer.needsHeader(m, i+n) {
			break
		}
		at, is6, protocol := m.Off-start, int(m.Tweak>>61&1), uint8(k.placer.protocols[i+n])
		ports := binary.BigEndian.Uint32(buf[int(at)+header4+is6*(header6-header4):]) & iana.PortMask[protocol]
		tail := uint64(ports)<<32 | uint64(protocol)<<24
		four.Frame[n4], four.At[n4], four.Tail[n4] = uint32(first+i+n), at, tail
		six.Frame[n6], six.At[n6], six.Tail[n6] = uint32(first+i+n), at, tail
		n6 += is6
		n4 += 1 - is6
	}
	k.four.Resize(n4)
	k.six.Resize(n6)
	return n
}
