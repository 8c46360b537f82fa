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
