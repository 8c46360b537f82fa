package ring

import (
	"encoding/binary"
	"fmt"

	"github.com/flowdedup/flowdedup/capture"
)

var (
	native = binary.NativeEndian // what the kernel writes
	le     = binary.LittleEndian // what records are written in
)

// Where a ring block (struct tpacket_block_desc of linux/if_packet.h) has what
// is read of it.
const (
	blockStatusAt  = 8
	blockPacketsAt = 12
	blockFirstAt   = 16 // offset of the first ring frame
	blockTimeAt    = 32 // seconds and nanoseconds when it was begun
	blockHeadLen   = 48
)

// Where a ring frame (struct tpacket3_hdr) has it. The struct sockaddr_ll of the
// packet follows it, then some room, then the packet.
const (
	frameNextAt    = 0 // offset of the next ring frame from this one
	frameSecondAt  = 4
	frameNanoAt    = 8
	frameSnapLenAt = 12
	frameLenAt     = 16
	frameStatusAt  = 20
	frameMacAt     = 24 // offset of the packet from the ring frame; 16 bits
	frameNetAt     = 26 // offset of what is behind its link header; 16 bits
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

// A batch is full with either. So it lies in the second-level cache with all that is made of
// it: batches of whole blocks cost a fifth more.
const (
	batchPackets = 2 << 10
	batchBytes   = 256 << 10
)

// walker turns ring blocks into records of a batch.
type walker struct {
	at      uint   // offset of the next packet of the present block
	left    uint32 // packets of it that were not taken; 0 before the next block
	iface   uint32 // of the frames, in the tables and in the section
	snapLen uint32
	cooked  bool // the link header gives way to a cooked one
	tagged  bool // a VLAN tag has its place behind the addresses
	inPlace bool // packets stay in the ring block, and there are no records of them
	counts  counts
	bytes   uint // of what would be records in the present batch, in place
	origin  uint // of the present ring frame in the batch's buffer, in place
}

// full reports whether the present batch is.
func (w *walker) full(b *capture.Batch) bool {
	if w.inPlace {
		return len(b.Frames) >= batchPackets || w.bytes >= batchBytes
	}
	return len(b.Frames) >= batchPackets || len(b.Buf) >= batchBytes
}

// counts are what a walker counts; see Stats.
type counts struct {
	delivered, truncated, coalesced, checksumOffloaded, tagged, hardware uint64
}

// take appends the next packets of a ring block to b until that is full; left tells whether
// it is to be called again with the same block. In place, the block is part of b.Buf, from
// origin on. Nothing that the block says is trusted: ring frames must lie one behind the
// other within it, and their packets within them. An error wraps capture.ErrDamaged and
// comes with the packets before the damage.
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
	b.Frames = grow(b.Frames, int(min(left, batchPackets)))
	if !w.inPlace {
		b.Buf = grow(b.Buf, len(block))
	}
	for ; left > 0 && !w.full(b); left-- {
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

// frame appends one packet, unless the ring frame has no room for what it claims
// to hold. A record is never longer than its ring frame, since its headers and
// what is added to the packet fit where the ring frame's headers were.
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
	if status&(statusVLAN|statusChecksumNotReady|statusGSO|statusHardware) != 0 {
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

// countStatus counts the rarer things about a packet.
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

// tagOf returns the VLAN tag that the kernel took off a packet: its type, which
// kernels before 3.14 do not tell and is 802.1Q then, over its 16 bits of
// control information. VLAN 0 is a tag like any other, and no tag is 0.
func tagOf(frame []byte, status uint32) uint32 {
	const type8021Q = 0x8100
	tpid := uint32(type8021Q)
	if status&statusTPID != 0 {
		tpid = uint32(native.Uint16(frame[frameTPIDAt:]))
	}
	return tpid<<16 | native.Uint32(frame[frameTCIAt:])&0xFFFF
}

// grow makes room for n more elements.
func grow[T any](s []T, n int) []T {
	if cap(s)-len(s) >= n {
		return s
	}
	return append(make([]T, 0, len(s)+n), s...)
}

// An enhanced packet block (draft-ietf-opsawg-pcapng, section 4.3) has its type,
// length, interface, time and both lengths before the packet, and its length
// again behind it.
const (
	recordHead = 28
	recordTail = 4
)

// What is added to packets: a VLAN tag behind the two addresses of an Ethernet
// frame, and cooked headers.
const (
	addressesLen = 12
	tagLen       = 4
	cookedLen    = 20
	etherLen     = addressesLen + 2
)

// record is what is known of a packet beside its bytes.
type record struct {
	time    int64
	wireLen uint32
	tag     uint32 // of a VLAN; 0 for none
}

// beginRecord appends the head of a record with a packet of capLen bytes, all of it in
// the room that take has made, and returns where the packet goes and is padded.
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
	le.PutUint32(p, capture.BlockEnhancedPacket)
	le.PutUint32(p[4:], uint32(size))
	le.PutUint32(p[8:], w.iface)
	le.PutUint32(p[12:], uint32(r.time>>32))
	le.PutUint32(p[16:], uint32(r.time))
	le.PutUint32(p[20:], uint32(capLen))
	le.PutUint32(p[24:], r.wireLen)
	f := w.appendFrame(b, r, uint(at+recordHead), capLen)
	f.Record, f.RecordLen = uint32(at), uint32(size)
	return p[recordHead : recordHead+capLen]
}

// appendFrame appends a frame of capLen bytes from data on, and counts it.
func (w *walker) appendFrame(b *capture.Batch, r *record, data uint, capLen int) *capture.Frame {
	// Field by field: a whole value would be put together on the stack, and be
	// loaded from there before the stores have come to rest, which doubles the cost
	// of a packet.
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

// appendInPlace enters a packet of capLen bytes that begins at start in its ring frame, in place.
func (w *walker) appendInPlace(b *capture.Batch, r *record, start uint, capLen int) {
	w.bytes += uint(recordHead + capLen + recordTail)
	w.appendFrame(b, r, w.origin+start, capLen)
}

// reserve returns where a packet of capLen bytes goes whose end is in its place in the ring
// frame if it begins at start: there, or in a record.
func (w *walker) reserve(b *capture.Batch, r *record, frame []byte, start uint, capLen int) []byte {
	if w.inPlace {
		w.appendInPlace(b, r, start, capLen)
		return frame[start : start+uint(capLen)]
	}
	return w.beginRecord(b, r, capLen)
}

// appendPlain appends a packet as it is.
func (w *walker) appendPlain(b *capture.Batch, r *record, packet []byte) {
	copy(w.beginRecord(b, r, min(len(packet), int(w.snapLen))), packet)
}

// appendTagged puts the VLAN tag back into an Ethernet frame, which is as long
// then as it was on the wire. The packet is at mac in its ring frame.
func (w *walker) appendTagged(b *capture.Batch, r *record, frame []byte, mac uint, packet []byte) {
	w.counts.tagged++
	r.wireLen += tagLen
	dst := w.reserve(b, r, frame, mac-tagLen, min(len(packet)+tagLen, int(w.snapLen)))
	copy(dst, packet[:addressesLen])
	binary.BigEndian.PutUint32(dst[addressesLen:], r.tag)
	copy(dst[addressesLen+tagLen:], packet[addressesLen:])
}

// Where the struct sockaddr_ll of a ring frame has what a cooked header is made
// of. The protocol is in network byte order already.
const (
	protocolAt = frameAddressAt + 2
	indexAt    = frameAddressAt + 4
	hardwareAt = frameAddressAt + 8  // 16 bits
	typeAt     = frameAddressAt + 10 // type and length of the address, then the address
)

// appendCooked puts a LINKTYPE_LINUX_SLL2 header in the place of a packet's link
// header. A VLAN tag becomes the protocol, as it does in an Ethernet header: the
// control information and the protocol that it hides come first in the body then.
// The packet is at mac in its ring frame.
func (w *walker) appendCooked(b *capture.Batch, r *record, frame []byte, mac uint, packet []byte) {
	link, protocol := linkHeader(frame, packet)
	var header [cookedLen + tagLen]byte // not in its place yet: there may be what it is made of
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
	copy(head[10:cookedLen], frame[typeAt:frameHeadLen])
	body := packet[link:]
	r.wireLen += uint32(len(head) - link)
	dst := w.reserve(b, r, frame, mac+uint(link)-uint(len(head)), min(len(body)+len(head), int(w.snapLen)))
	copy(dst, head)
	copy(dst[len(head):], body)
}

// linkHeader returns the length of a packet's link header and the protocol that
// it names. A socket of type SOCK_DGRAM would take the header off, but of the
// several VLAN tags of a packet Linux 6.11 and later then hide all types, and leave
// all but the first tag in place. Of an Ethernet frame the end of the header is
// known; for others, and for frames with a length instead of a type, it is
// what the kernel says.
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
