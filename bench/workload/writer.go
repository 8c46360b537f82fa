// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"encoding/binary"
	"io"
)

// writer builds the records of a capture file in its own buffer, so that packets are not
// copied.
type writer struct {
	w      io.Writer
	format Format
	buf    []byte
	used   int
	err    error // the first one; later output is dropped
}

const (
	writeSize  = 1 << 20
	recordRoom = 64 + maxFrame // header, frame, padding and trailer
	recordHead = 16            // of pcap
	blockHead  = 28            // of an enhanced packet block
	linkType   = 1             // LINKTYPE_ETHERNET
	snapLen    = 262144        // libpcap's MAXIMUM_SNAPLEN
	blockPad   = 3
)

func newWriter(w io.Writer, format Format) *writer {
	return &writer{w: w, format: format, buf: make([]byte, 0, writeSize)}
}

// header writes everything before the first packet.
func (w *writer) header() {
	le := binary.LittleEndian
	b := w.buf[:0]
	if w.format == Pcap {
		for _, word := range []uint32{0xA1B23C4D, 4<<16 | 2, 0, 0, snapLen, linkType} {
			b = le.AppendUint32(b, word)
		}
	} else {
		for _, word := range []uint32{
			// Section header: byte order, version 1.0, unknown length.
			0x0A0D0D0A, 28, 0x1A2B3C4D, 1, 0xFFFFFFFF, 0xFFFFFFFF, 28,
			// Interface: if_tsresol (9, one byte, padded) nanoseconds, end of options.
			1, 32, linkType, snapLen, 1<<16 | 9, 9, 0, 32,
		} {
			b = le.AppendUint32(b, word)
		}
	}
	w.used = len(b)
}

// nextFrame returns where the next frame goes, maxFrame bytes long.
func (w *writer) nextFrame() []byte {
	buf := w.buf[:cap(w.buf)]
	if w.used+recordRoom > len(buf) {
		w.flush()
	}
	start := w.used + recordHead
	if w.format == PcapNG {
		start = w.used + blockHead
	}
	return buf[start : start+maxFrame]
}

// commit makes the first n bytes of the last nextFrame a packet with the given time in
// nanoseconds.
func (w *writer) commit(time int64, n int) {
	le := binary.LittleEndian
	b := w.buf[w.used:cap(w.buf)]
	if w.format == Pcap {
		le.PutUint32(b, uint32(time/1e9))
		le.PutUint32(b[4:], uint32(time%1e9))
		le.PutUint32(b[8:], uint32(n))
		le.PutUint32(b[12:], uint32(n))
		w.used += recordHead + n
		return
	}
	padded := (n + blockPad) &^ blockPad
	total := blockHead + padded + 4
	le.PutUint32(b, 6)
	le.PutUint32(b[4:], uint32(total))
	le.PutUint32(b[8:], 0)
	le.PutUint32(b[12:], uint32(time>>32))
	le.PutUint32(b[16:], uint32(time))
	le.PutUint32(b[20:], uint32(n))
	le.PutUint32(b[24:], uint32(n))
	clear(b[blockHead+n : blockHead+padded])
	le.PutUint32(b[total-4:], uint32(total))
	w.used += total
}

// flush writes the buffer out and returns the first error so far.
func (w *writer) flush() error {
	if w.err == nil {
		_, w.err = w.w.Write(w.buf[:w.used])
	}
	w.used = 0
	return w.err
}
