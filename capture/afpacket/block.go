// SPDX-License-Identifier: Apache-2.0

package afpacket

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/encoding"
)

var (
	native = binary.NativeEndian // byte order of the kernel's structures
	le     = binary.LittleEndian // byte order of our records
)

// Offsets in a ring block (struct tpacket_block_desc of linux/if_packet.h).
const (
	blockStatusAt  = 8
	blockPacketsAt = 12
	blockFirstAt   = 16 // offset of the first ring frame
	blockTimeAt    = 32 // when the kernel began the block: seconds, nanoseconds
	blockHeadLen   = 48
)

// Offsets in a ring frame (struct tpacket3_hdr). The struct sockaddr_ll of the packet
// follows it, then some free space, then the packet.
const (
	frameNextAt    = 0 // offset of the next ring frame from this ring frame
	frameSecondAt  = 4
	frameNanoAt    = 8
	frameSnapLenAt = 12
	frameLenAt     = 16
	frameStatusAt  = 20
	frameMacAt     = 24 // offset of the packet from the ring frame; 16 bits
	frameNetAt     = 26 // offset of the network header; 16 bits
	frameTCIAt     = 32
	frameTPIDAt    = 36 // 16 bits
	frameAddressAt = 48
	frameHeadLen   = frameAddressAt + 20
)

// Bits of the status of a ring frame.
const (
	statusChecksumNotReady = 1 << 3
	statusVLAN             = 1 << 4
	statusTPID             = 1 << 6
	statusGSO              = 1 << 8
	statusHardware         = 1 << 31
)

// A batch is full at either limit. So it fits the second-level cache together with
// everything that is computed from it; batches of whole ring blocks cost a fifth more.
const (
	batchPackets = 2 << 10
	batchBytes   = 256 << 10
)

// walker turns ring blocks into records of a batch.
type walker struct {
	at      uint   // offset of the next packet in the current ring block
	left    uint32 // packets of that block still to be read; 0 before the next block
	iface   uint32 // interface number of the frames
	snapLen uint32
	cooked  bool // a cooked header replaces the link header
	tagged  bool // a VLAN tag goes behind the hardware addresses
	inPlace bool // packets stay in the ring block, without records
	counts  walkerCounts
	bytes   uint // in place: how long the records of this batch would be
	loaded  uint // up to this offset the current ring block was loaded into the cache
	touched byte // keeps the compiler from leaving touch out
	origin  uint // in place: offset of the current ring frame in Batch.Buf
}

// full reports whether the batch has reached a limit.
func (w *walker) full(b *capture.Batch) bool {
	if w.inPlace {
		return len(b.Frames) >= batchPackets || w.bytes >= batchBytes
	}
	return len(b.Frames) >= batchPackets || len(b.Buf) >= batchBytes
}

// walkerCounts has the counts that a walker makes; see Stats.
type walkerCounts struct {
	delivered, truncated, coalesced, checksumOffloaded, tagged, hardware uint64

	// unhandled counts tagged packets that the host has no handler for: it counts them as dropped
	// (rx_dropped) after the ring has got them.
	unhandled uint64
}

// take appends the next packets of a ring block to b until the batch is full. While
// w.left is not 0, the same block has more. In place, the ring block is part of b.Buf,
// from origin on. take trusts nothing that the block says: ring frames must lie in order
// within it, and packets within their ring frames. An error wraps
// capture.ErrDamaged; the packets before the damage are in b.
func (w *walker) take(b *capture.Batch, block []byte, origin int) error {
	if len(block) < blockHeadLen {
		return fmt.Errorf("ring block of %d bytes: %w", len(block), capture.ErrDamaged)
	}
	packets := native.Uint32(block[blockPacketsAt:])
	if w.left == 0 {
		w.left, w.at = packets, uint(native.Uint32(block[blockFirstAt:]))
	}
	left, at := w.left, w.at
	w.left = 0
	b.Frames = slices.Grow(b.Frames, int(min(left, batchPackets)))
	if !w.inPlace {
		b.Buf = slices.Grow(b.Buf, len(block))
	}
	w.loaded = at
	for ; left > 0 && !w.full(b); left-- {
		w.load(block, at)
		if w.inPlace && !w.cooked {
			if n, end := w.takePlain(b, block, at, left, origin); n > 0 {
				at, left = end, left-n+1 // the loop counts one packet
				continue
			}
		}
		if at > uint(len(block)) || uint(len(block))-at < frameHeadLen {
			return damagedAt(at, packets-left)
		}
		frame := block[at:]
		next := uint(native.Uint32(frame[frameNextAt:]))
		if left > 1 {
			if next > uint(len(frame)) {
				return damagedAt(at, packets-left)
			}
			frame = frame[:next]
		}
		w.origin = uint(origin) + at
		if !w.frame(b, frame) {
			return damagedAt(at, packets-left)
		}
		at += next
	}
	w.left, w.at = left, at
	return nil
}

func damagedAt(at uint, packet uint32) error {
	return fmt.Errorf("ring block: packet %d at offset %d: %w", packet, at, capture.ErrDamaged)
}

// frame appends one packet. It returns false if the ring frame is too short for its claimed
// content. A record is never longer than its ring frame: its header and the additions to the
// packet replace the longer headers of the ring frame.
func (w *walker) frame(b *capture.Batch, frame []byte) bool {
	if len(frame) < frameHeadLen {
		return false
	}
	mac, capLen := uint(native.Uint16(frame[frameMacAt:])), uint(native.Uint32(frame[frameSnapLenAt:]))
	if mac < frameHeadLen || mac > uint(len(frame)) || capLen > uint(len(frame))-mac {
		return false
	}
	status := native.Uint32(frame[frameStatusAt:])
	packet := frame[mac : mac+capLen : mac+capLen]
	r := record{
		time:    int64(native.Uint32(frame[frameSecondAt:]))*1e9 + int64(native.Uint32(frame[frameNanoAt:])),
		wireLen: native.Uint32(frame[frameLenAt:]),
	}
	if status&rare != 0 {
		w.countStatus(status)
		if status&statusVLAN != 0 {
			r.tag = tagOf(frame, status)
		}
	}
	switch {
	case w.cooked:
		w.appendCooked(b, &r, frame, mac, packet)
	case r.tag != 0 && w.tagged && len(packet) >= addressesLen:
		w.appendTagged(b, &r, frame, mac, packet)
	case w.inPlace:
		w.appendInPlace(b, &r, mac, min(len(packet), int(w.snapLen)))
	default:
		w.appendPlain(b, &r, packet)
	}
	return true
}

// countStatus counts the rare properties of a packet.
func (w *walker) countStatus(status uint32) {
	if status&statusChecksumNotReady != 0 {
		w.counts.checksumOffloaded++
	}
	if status&statusGSO != 0 {
		w.counts.coalesced++
	}
	if status&statusHardware != 0 {
		w.counts.hardware++
	}
}

// tagOf returns the VLAN tag that the kernel took off a packet: its type in the upper 16 bits,
// its control information in the lower 16 bits. Kernels before 3.14 do not report the type, which
// is 802.1Q then. VLAN 0 is a tag too; a result of 0 never is.
func tagOf(frame []byte, status uint32) uint32 {
	const type8021Q = 0x8100
	tpid := uint32(type8021Q)
	if status&statusTPID != 0 {
		tpid = uint32(native.Uint16(frame[frameTPIDAt:]))
	}
	return tpid<<16 | native.Uint32(frame[frameTCIAt:])&0xFFFF
}

// The parts of an enhanced packet block before and behind the packet.
const (
	recordHead = encoding.PacketHead
	recordTail = encoding.MinPacketLen - recordHead
)

// The parts that are added to packets: a VLAN tag behind the two addresses of an Ethernet
// frame, and cooked headers.
const (
	addressesLen = 12
	tagLen       = 4
	cookedLen    = 20
	etherLen     = addressesLen + 2
)

// record has the time, the wire length and the VLAN tag of a packet.
type record struct {
	time    int64
	wireLen uint32
	tag     uint32 // of a VLAN; 0 for none
}

// beginRecord appends the header of a record with a packet of capLen bytes, and returns
// where the packet goes. The record is padded, and fits the room that take has made.
func (w *walker) beginRecord(b *capture.Batch, r *record, capLen int) []byte {
	padded := (capLen + 3) &^ 3
	size := recordHead + padded + recordTail
	at := len(b.Buf)
	b.Buf = b.Buf[:at+size]
	p := b.Buf[at : at+size : at+size]
	le.PutUint32(p[recordHead+padded:], uint32(size))
	if padded > 0 {
		le.PutUint32(p[recordHead+padded-4:], 0)
	}
	encoding.PutPacketHead(p, uint32(size), w.iface, uint64(r.time), uint32(capLen), r.wireLen)
	f := w.appendFrame(b, r, uint(at+recordHead), capLen)
	f.Record, f.RecordLen = uint32(at), uint32(size)
	return p[recordHead : recordHead+capLen]
}

// appendFrame appends the Frame of a packet of capLen bytes at offset data, and counts
// it.
func (w *walker) appendFrame(b *capture.Batch, r *record, data uint, capLen int) *capture.Frame {
	// The fields are set one by one. The compiler would build a whole value on the stack
	// and load it before the stores have completed, which doubles the cost of a packet.
	b.Frames = b.Frames[:len(b.Frames)+1]
	f := &b.Frames[len(b.Frames)-1]
	f.Time = r.time
	f.Data, f.CapLen = uint32(data), uint32(capLen)
	f.WireLen, f.Interface = r.wireLen, w.iface
	f.Record, f.RecordLen = 0, 0
	w.counts.delivered++
	if uint32(capLen) < r.wireLen {
		w.counts.truncated++
	}
	return f
}

// appendInPlace appends the Frame of a packet that stays in its ring frame, at start.
func (w *walker) appendInPlace(b *capture.Batch, r *record, start uint, capLen int) {
	w.bytes += uint(recordHead + capLen + recordTail)
	w.appendFrame(b, r, w.origin+start, capLen)
}

// reserve returns where a packet of capLen bytes goes: to start in the ring frame if
// packets stay in place, else into a new record.
func (w *walker) reserve(b *capture.Batch, r *record, frame []byte, start uint, capLen int) []byte {
	if w.inPlace {
		w.appendInPlace(b, r, start, capLen)
		return frame[start : start+uint(capLen)]
	}
	return w.beginRecord(b, r, capLen)
}

// appendPlain appends a packet unchanged.
func (w *walker) appendPlain(b *capture.Batch, r *record, packet []byte) {
	copy(w.beginRecord(b, r, min(len(packet), int(w.snapLen))), packet)
}

// appendTagged puts the VLAN tag back into an Ethernet frame, which then has its length
// on the wire again. The packet lies at mac in its ring frame.
func (w *walker) appendTagged(b *capture.Batch, r *record, frame []byte, mac uint, packet []byte) {
	w.counts.tagged++
	if len(packet) >= etherLen && !handled(binary.BigEndian.Uint16(packet[addressesLen:])) {
		w.counts.unhandled++
	}
	r.wireLen += tagLen
	dst := w.reserve(b, r, frame, mac-tagLen, min(len(packet)+tagLen, int(w.snapLen)))
	copy(dst, packet[:addressesLen])
	binary.BigEndian.PutUint32(dst[addressesLen:], r.tag)
	copy(dst[addressesLen+tagLen:], packet[addressesLen:])
}

// handled reports whether most hosts have a handler for an ethertype.
func handled(kind uint16) bool {
	const ipv4, arp, ipv6 = 0x0800, 0x0806, 0x86DD
	return kind == ipv4 || kind == arp || kind == ipv6
}

// Offsets in a ring frame, within struct sockaddr_ll, of the parts of a cooked header.
// The protocol is in network byte order already.
const (
	protocolAt = frameAddressAt + 2
	indexAt    = frameAddressAt + 4
	hardwareAt = frameAddressAt + 8  // 16 bits
	typeAt     = frameAddressAt + 10 // type and length of the address, then the address
)

// appendCooked replaces the link header of a packet by a LINKTYPE_LINUX_SLL2 header. A
// VLAN tag is encoded as in an Ethernet header: its type becomes the protocol, and the
// body begins with its control information and the original protocol. The packet lies at
// mac in its ring frame.
func (w *walker) appendCooked(b *capture.Batch, r *record, frame []byte, mac uint, packet []byte) {
	link, protocol := linkHeader(frame, packet)
	var header [cookedLen + tagLen]byte // built apart: its place may overlap its sources
	head := header[:cookedLen]
	copy(head, protocol)
	if r.tag != 0 {
		w.counts.tagged++
		head = header[:]
		binary.BigEndian.PutUint16(head, uint16(r.tag>>16))
		binary.BigEndian.PutUint16(head[cookedLen:], uint16(r.tag))
		copy(head[cookedLen+2:], protocol)
	}
	binary.BigEndian.PutUint32(head[4:], native.Uint32(frame[indexAt:]))
	binary.BigEndian.PutUint16(head[8:], native.Uint16(frame[hardwareAt:]))
	const lengthAt, addressAt = 11, 12
	copy(head[10:cookedLen], frame[typeAt:frameHeadLen])
	// Behind a short address the kernel leaves old content of the ring.
	clear(head[min(addressAt+int(head[lengthAt]), cookedLen):cookedLen])
	body := packet[link:]
	r.wireLen += uint32(len(head) - link)
	dst := w.reserve(b, r, frame, mac+uint(link)-uint(len(head)), min(len(body)+len(head), int(w.snapLen)))
	copy(dst, head)
	copy(dst[len(head):], body)
}

// linkHeader returns the length of a packet's link header and the protocol that it names. The
// end of an Ethernet header is known; for other links, and for frames with a length instead of
// a type, the kernel states it. A SOCK_DGRAM socket would remove the header, but Linux 6.11 and
// later then hide the types of all VLAN tags and leave all but the first tag in place.
func linkHeader(frame, packet []byte) (length int, protocol []byte) {
	const firstType = 0x600
	hardware := native.Uint16(frame[hardwareAt:])
	if (hardware == hardwareEther || hardware == hardwareLoopback) && len(packet) >= etherLen {
		kind := packet[addressesLen:etherLen]
		if binary.BigEndian.Uint16(kind) < firstType {
			kind = frame[protocolAt : protocolAt+2]
		}
		return etherLen, kind
	}
	length = int(native.Uint16(frame[frameNetAt:])) - int(native.Uint16(frame[frameMacAt:]))
	return min(max(length, 0), len(packet)), frame[protocolAt : protocolAt+2]
}
