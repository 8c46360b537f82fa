//go:build (amd64 || arm64) && !purego

package digest

import (
	"encoding/binary"
	"unsafe"

	"github.com/flowdedup/flowdedup/asm/internal/cpu"
)

// aesLanes is how many messages a kernel takes forward side by side.
const aesLanes = 16

// lanes is the state of the messages in progress. The kernels know its layout.
type lanes struct {
	state  [aesLanes]Digest
	offset [aesLanes]uint64 // of the next block, from the buffer's start
}

// keysAsDigests returns the memory of keys as cipher blocks.
func keysAsDigests(keys [][16]byte) []Digest {
	return unsafe.Slice((*Digest)(unsafe.Pointer(unsafe.SliceData(keys))), len(keys))
}

// encrypt sets dst[i] to the encryption of src[i]. dst may be src.
func (a *AES) encrypt(dst, src []Digest) {
	if len(src) > 0 {
		a.encryptBlocks(&dst[:len(src)][0], &src[0], len(src))
	}
}

func (a *AES) sum16(dst []Digest, keys [][16]byte) {
	if a.level == cpu.Generic {
		a.sum16Generic(dst, keys)
		return
	}
	a.encrypt(dst, keysAsDigests(keys))
}

func (a *AES) sum48(dst []Digest, keys [][48]byte) {
	if a.level == cpu.Generic {
		a.sum48Generic(dst, keys)
		return
	}
	if len(keys) > 0 {
		a.sum48Keys(&dst[0], &keys[0], len(keys))
	}
}

// A batch of at most shortBatch messages is cheaper one block at a time: the lanes cost
// some 200 ns to set up, and a step of 16 lanes with NEON costs as much as 3 single blocks.
// VAES takes that step in the time of one block, so there only shortBlocks blocks in all,
// which cost less than the setup, go without lanes. In groups of AES-NI two messages are as
// cheap.
const (
	shortBatch  = 3
	shortBlocks = 8
)

// isShort reports whether a batch is cheaper without lanes.
func (a *AES) isShort(msgs []Message) bool {
	if len(msgs) > shortBatch {
		return false
	}
	if a.level == cpu.AESNI {
		return len(msgs) < 2
	}
	sum := uint64(0)
	for i := range msgs {
		sum += cipherBlocks(msgs[i].Len)
	}
	return a.level != cpu.VAES || sum <= shortBlocks
}

// sumMessages digests parts of the batch one after another.
func (a *AES) sumMessages(dst []Digest, buf []byte, msgs []Message) {
	if a.level == cpu.Generic || a.isShort(msgs) {
		a.sumMessagesGeneric(dst, buf, msgs)
		return
	}
	var o messageOrder
	for len(msgs) > 0 {
		n := min(len(msgs), orderedMessages)
		order, same := o.sort(msgs[:n])
		a.sumSorted(dst[:n], buf, msgs[:n], &o, order, same)
		dst, msgs = dst[n:], msgs[n:]
	}
}

// sumLanes digests the messages that order lists, sorted: groups of the same number of
// blocks, then the rest.
func (a *AES) sumLanes(dst []Digest, buf []byte, msgs []Message, o *messageOrder, order []uint16, same bool) {
	a.sumUneven(dst, buf, msgs, a.sumEqual(dst, buf, msgs, o, order, same))
}

// sumUneven digests the messages that order lists in three passes: all first blocks at
// once, then the whole blocks of all messages in lanes, then all last blocks, padded, at
// once. So each pass is a kernel over independent blocks.
func (a *AES) sumUneven(dst []Digest, buf []byte, msgs []Message, order []uint16) {
	if len(order) == 0 {
		return
	}
	var memory [orderedMessages]Digest
	states := memory[:len(order)]
	for i, at := range order {
		states[i] = Digest{uint64(msgs[at].Len), msgs[at].Tweak}
	}
	a.encrypt(states, states)
	a.addWholeBlocks(states, buf, msgs, order)
	a.addLastBlocks(states, buf, msgs, order)
	for i, at := range order {
		dst[at] = states[i]
	}
}

// addWholeBlocks adds all blocks but the last ones. A lane that finishes its message
// takes the next one. Messages come in order of length, so several lanes finish at once.
func (a *AES) addWholeBlocks(states []Digest, buf []byte, msgs []Message, order []uint16) {
	var l lanes
	var left [aesLanes]uint64 // blocks; 0 is an idle lane
	var index [aesLanes]int   // of the lane's state
	next := 0
	for next < len(order) && cipherBlocks(msgs[order[next]].Len) < 2 {
		next++
	}
	for {
		steps, busy := ^uint64(0), -1
		for lane := range left {
			if left[lane] == 0 {
				if next == len(order) {
					continue
				}
				m := &msgs[order[next]]
				left[lane], index[lane] = cipherBlocks(m.Len)-1, next
				l.state[lane], l.offset[lane] = states[next], uint64(m.Off)
				next++
			}
			steps, busy = min(steps, left[lane]), lane
		}
		if busy < 0 {
			return
		}
		// An idle lane must read something, so it reads what a busy one reads.
		for lane := range left {
			if left[lane] == 0 {
				l.offset[lane] = l.offset[busy]
			}
		}
		a.advance(&l, buf, steps)
		for lane := range left {
			if left[lane] == 0 {
				continue
			}
			l.offset[lane] += 16 * steps
			if left[lane] -= steps; left[lane] == 0 {
				states[index[lane]] = l.state[lane]
			}
		}
	}
}

// addLastBlocks adds the last 1 to 16 bytes of each message. Empty messages come first
// and have none.
func (a *AES) addLastBlocks(states []Digest, buf []byte, msgs []Message, order []uint16) {
	first := 0
	for i, at := range order {
		m := &msgs[at]
		if m.Len == 0 {
			first = i + 1
			continue
		}
		addPadded(&states[i], buf, uint64(m.Off)+uint64(m.Len-1)&^15, uint64(m.Len-1)&15+1)
	}
	a.encrypt(states[first:], states[first:])
}

// addPadded adds the n bytes at off, 1 to 16, padded with zeros. Where buf goes on it
// loads 16 bytes and masks those after the message, which is faster than a copy of n
// bytes.
func addPadded(d *Digest, buf []byte, off, n uint64) {
	if off+16 > uint64(len(buf)) {
		xorPadded(digestBytes(d), buf[off:off+n])
		return
	}
	b := (*[16]byte)(buf[off:])
	d[0] ^= binary.LittleEndian.Uint64(b[:8]) & lowBytes(min(n, 8))
	d[1] ^= binary.LittleEndian.Uint64(b[8:]) & lowBytes(max(n, 8)-8)
}

// lowBytes returns a mask of the n low bytes of a word, 0 to 8.
func lowBytes(n uint64) uint64 {
	return uint64(1)<<(8*n) - 1
}
