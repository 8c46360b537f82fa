package ring

import (
	"encoding/binary"

	"github.com/flowdedup/flowdedup/capture"
)

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
