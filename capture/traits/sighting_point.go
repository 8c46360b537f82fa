// SPDX-License-Identifier: Apache-2.0

package traits

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/internal/iana"
)

// PointFields says which fields distinguish capture points of packets.
type PointFields uint8

// The fields of a point.
const (
	// PointVLAN is the stack of VLAN identifiers. Priorities, types of tags, and tags
	// without an identifier (IEEE 802.1Q, table 9-2) do not count.
	PointVLAN PointFields = 1 << iota
	// PointVNI is the identifiers of the opened tunnels that both directions share: VNI,
	// GRE key, ERSPAN session, the tunnel of EoIP, the instance of LISP, the intercept of
	// JMirror.
	PointVNI
	// pointTEID is the identifiers of opened tunnels that differ by direction: the TEID of
	// GTP-U, the call of PPTP, the session of L2TP. They distinguish tenants, but are no
	// points of whole conversations.
	pointTEID
	// PointInterface is the interface of the capture, or that in a Linux cooked header.
	PointInterface
	// PointInput is the input of several.
	PointInput
	// PointLAN is the path through a redundant network: see Path.
	PointLAN
	// PointOrigin is PointInterface and PointInput, but inputs that continue each other are the same:
	// see capture.Interface.Origin.
	PointOrigin

	headerFields = PointVLAN | PointVNI | pointTEID
)

// Validate returns an error for an unknown field.
func (f PointFields) Validate() error {
	if unknown := f &^ (headerFields | PointInterface | PointInput | PointLAN | PointOrigin); unknown != 0 {
		return fmt.Errorf("unknown fields %#x of a capture point", uint8(unknown))
	}
	return nil
}

// pointFields has the names of fields, and the fields of each.
var pointFields = []struct {
	name   string
	fields PointFields
}{{"vlan", PointVLAN}, {"vni", PointVNI | pointTEID}, {"interface", PointInterface}, {"input", PointInput}, {"lan", PointLAN}}

// layerFields has the field that the identifier of a layer is, or 0.
var layerFields = [headers.LayerUnread + 1]PointFields{
	headers.LayerVLAN: PointVLAN,
	headers.LayerGRE:  PointVNI, headers.LayerNVGRE: PointVNI, headers.LayerERSPAN: PointVNI, headers.LayerVXLAN: PointVNI, headers.LayerGENEVE: PointVNI,
	headers.LayerEtherIP: PointVNI, headers.LayerEoIP: PointVNI, headers.LayerLISP: PointVNI, headers.LayerJMirror: PointVNI,
	headers.LayerGTPU: pointTEID, headers.LayerPPTP: pointTEID, headers.LayerL2TP: pointTEID, headers.LayerL2TPv3: pointTEID,
}

// parsePointField returns the fields that a name stands for: see ParsePoints.
func parsePointField(name string) (PointFields, error) {
	for _, f := range pointFields {
		if f.name == name {
			return f.fields, nil
		}
	}
	return 0, fmt.Errorf("unknown field %q: must be of vlan, vni, interface, input, lan", name)
}

// place is where the frames of an interface were seen.
type place struct {
	number uint32 // of the interface, or noInterface if each of its frames has its own place
	plain  uint32 // where IP starts in frames that have no header that counts, or noStart
	hash   uint64
}

const (
	noInterface = math.MaxUint32
	noStart     = math.MaxUint32
	// plainStart is where IP starts in Ethernet frames without tags. No other way of
	// walk, and no tunnel, leads to an IP header there.
	plainStart = 14
)

// points fills Sightings.Point for n frames of b from number from on. Where headerFields
// count, h describes them.
func (r *SightingReader) points(b *capture.Batch, from, n int, h []headers.Header) {
	points, frames := capture.Resize(r.seen.Point, n), b.Frames[from:from+n]
	headers := r.cfg.Fields&headerFields != 0
	at := place{number: noInterface}
	for i := range points {
		if frames[i].Interface != at.number {
			at = r.placeOf(b, from+i)
		}
		points[i] = at.hash
		if headers && h[i].Start != at.plain {
			points[i] = r.stack(&at, b, from+i, h[i].Start)
		}
	}
	r.paths(points, b, from)
	r.seen.Point = points
}

// paths adds the paths of frames to their points, if they count.
func (r *SightingReader) paths(points []uint64, b *capture.Batch, from int) {
	if r.cfg.Fields&PointLAN == 0 {
		return
	}
	for i := range points {
		if path, _ := headers.PathOf(b, from+i); path != headers.NoPath {
			points[i] = r.keys.then(points[i], uint64(path)<<48)
		}
	}
}

// placeOf returns where frame i of b was seen.
func (r *SightingReader) placeOf(b *capture.Batch, i int) place {
	at := place{number: b.Frames[i].Interface, plain: noStart, hash: r.keys.words[6]}
	iface := &b.Interfaces[at.number]
	switch iface.LinkType {
	case capture.LinkEthernet:
		at.plain = plainStart
	case capture.LinkRaw, capture.LinkIPv4, capture.LinkIPv6:
		at.plain = 0
	}
	if r.cfg.Fields&PointInput != 0 {
		at.hash = r.keys.then(at.hash, uint64(b.Sections[iface.Section].Input))
	}
	if r.cfg.Fields&(PointInterface|PointOrigin) == 0 {
		return at
	}
	point, all := interfaceOf(b, i)
	if r.cfg.Fields&PointInterface != 0 {
		at.hash = r.keys.then(at.hash, uint64(point.Interface)<<32|uint64(point.Index))
	}
	if r.cfg.Fields&PointOrigin != 0 {
		at.hash = r.keys.then(at.hash, uint64(iface.OriginPoint())<<32|uint64(point.Index))
	}
	if !all {
		at.number = noInterface
	}
	return at
}

// stack returns the hash of a place and of the headers of frame i of b that count. Nearly
// all frames are Ethernet, and have nothing but VLAN tags or a plain tunnel before IP, which starts
// at start.
func (r *SightingReader) stack(at *place, b *capture.Batch, i int, start uint32) uint64 {
	if at.plain == plainStart && start > plainStart {
		frame := b.Data(i)
		key := tunnelKeyOf(frame, start, at.hash)
		if key == r.tunnel.key && key.place != 0 {
			return r.tunnel.hash
		}
		if hash, ok := r.tags(at.hash, frame[plainStart-2:start]); ok {
			return hash
		}
		if kind, id, ok := r.cfg.Tunnels.Plain(frame, start); ok {
			hash := r.layer(at.hash, kind, id)
			if kind == headers.LayerVXLAN || kind == headers.LayerGENEVE {
				r.tunnel.key, r.tunnel.hash = key, hash
			}
			return hash
		}
	}
	return r.layered(at.hash, b, i)
}

// tunnelKey has all that headers.Tunnels.Plain reads of a frame in VXLAN or GENEVE over IPv4. Many
// frames in a row are in the same tunnel.
type tunnelKey struct{ place, headers, tunnel, start uint64 }

// tunnelKeyOf returns the key of a frame whose IP header in a tunnel is at offset start. A zero key
// is of other frames. Words are little-endian.
func tunnelKeyOf(frame []byte, start uint32, place uint64) (k tunnelKey) {
	const udp, header, type4 = plainStart + 20, 8, 0x0008
	if start < udp+2*header+plainStart || int(start)+2 > len(frame) {
		return k
	}
	h, inside := (*[udp + 2*header]byte)(frame), binary.LittleEndian.Uint32(frame[start-2:start+2])
	first, ports := binary.LittleEndian.Uint32(h[plainStart-2:]), le64(h[udp:])
	if first&0xffffff != type4|0x45<<16 || h[plainStart+9] != iana.ProtoUDP || bits.ReverseBytes16(uint16(ports>>32)) < header {
		return k
	}
	return tunnelKey{place, ports<<32&^(1<<48-1) | uint64(inside&0xf0ffff), le64(h[udp+header:]), uint64(start)}
}

// tags returns the hash of a place and of VLAN tags, from the first to the last type of a frame. It
// reports whether there is nothing else.
func (r *SightingReader) tags(hash uint64, tags []byte) (_ uint64, ok bool) {
	for ; len(tags) >= 6; tags = tags[4:] {
		tag := binary.BigEndian.Uint32(tags)
		if !iana.IsVLAN(uint16(tag >> 16)) {
			return 0, false
		}
		if r.cfg.Fields&PointVLAN != 0 {
			hash = r.keys.layer(hash, headers.LayerVLAN, r.cfg.Groups.of(headers.LayerVLAN, tag&0xfff))
		}
	}
	return hash, len(tags) == 2
}

// layered is the slow path of stack.
func (r *SightingReader) layered(hash uint64, b *capture.Batch, i int) uint64 {
	r.layers = r.decoder.LayersBut(r.skipped, r.layers[:0], b, i)
	for _, l := range r.layers {
		hash = r.layer(hash, l.Kind, l.ID)
	}
	return hash
}

// layer adds a header to a hash if its kind counts.
func (r *SightingReader) layer(hash uint64, kind headers.LayerKind, id uint32) uint64 {
	if layerFields[kind]&r.cfg.Fields != 0 {
		hash = r.keys.layer(hash, kind, r.cfg.Groups.of(kind, id))
	}
	return hash
}
