// SPDX-License-Identifier: Apache-2.0

//go:build amd64 && !purego

package headers

import (
	"unsafe"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/asm/frames"
	"github.com/flowdedup/flowdedup/asm/internal/cpu"
)

// [FindDatagrams], [OpenTunnels] and [Whole.Count] have kernels for AVX2 and AVX512. [Tuples.List]
// and [Ends.Hash] have them for AVX512 only, which can load from eight places at once. At other
// levels the former lists nothing.

// findVectors does the messages that fill whole vectors, and returns how many.
func (d *Datagrams) findVectors(msgs []digest.Message, numbers []uint16, rest []uint64, buf []byte) (done int, found Found) {
	if len(buf) < datagramReach {
		return 0, 0
	}
	switch cpu.Best {
	case cpu.AVX512:
		if groups := len(msgs) / 8; groups > 0 {
			cut, broken := findDatagramsAVX512(&msgs[0], &numbers[0], (*uint8)(unsafe.Pointer(&rest[0])), groups, &buf[0], len(buf)-datagramReach, d)
			return 8 * groups, foundBits(cut, broken)
		}
	case cpu.AVX2:
		return len(msgs), d.findPlain(msgs, numbers, rest, buf)
	}
	return 0, 0
}

// plainVectors does plain frames in groups of four. See findPlain.
func (d *Datagrams) plainVectors(msgs []digest.Message, numbers []uint16, buf []byte) (others uint64, found Found) {
	const group = 4
	others = ^uint64(0) >> (64 - len(msgs))
	if groups := len(msgs) / group; groups > 0 {
		left, cut, broken := findDatagramsAVX2(&msgs[0], &numbers[0], groups, &buf[0], len(buf)-datagramReach, d)
		return others>>(group*groups)<<(group*groups) | left, foundBits(cut, broken)
	}
	return others, 0
}

// findDatagramsAVX512 does groups of eight messages, 1 or more. It reads frames from
// offsets up to last. Each group has a byte of rest. cut and broken are not 0 if some datagrams are
// FoundCut and FoundBroken.
//
//go:noescape
func findDatagramsAVX512(msgs *digest.Message, numbers *uint16, rest *uint8, groups int, buf *byte, last int, d *Datagrams) (cut, broken uint64)

// findDatagramsAVX2 does the frames without tags of 1 to 16 groups of four messages. It
// returns a bit for each message that it leaves unchanged: other frames, frames whose
// neighbors take the slow path or begin after the offset last, and frames that do so
// themselves. cut and broken are of those that it takes.
//
//go:noescape
func findDatagramsAVX2(msgs *digest.Message, numbers *uint16, groups int, buf *byte, last int, d *Datagrams) (others, cut, broken uint64)

// hashVectors does the messages that fill whole vectors, and returns how many.
func (e *Ends) hashVectors(hashes []uint64, msgs []digest.Message, buf []byte) (done int, others uint64) {
	groups := len(msgs) / 8
	if cpu.Best != cpu.AVX512 || groups == 0 {
		return 0, 0
	}
	_ = hashes[8*groups-1]
	return 8 * groups, hashEndsAVX512(&hashes[0], &msgs[0], groups, &buf[0], e) >> (64 - 8*groups)
}

// hashEndsAVX512 does 1 to 8 groups of eight messages. The bits of others are the highest.
//
//go:noescape
func hashEndsAVX512(hashes *uint64, msgs *digest.Message, groups int, buf *byte, e *Ends) (others uint64)

// tupleEnd is a list in the form that the kernel takes.
type tupleEnd struct {
	frame, at *uint32
	tail      *uint64
	n         int
}

func (l *TupleList) end() tupleEnd {
	return tupleEnd{unsafe.SliceData(l.Frame), unsafe.SliceData(l.At), unsafe.SliceData(l.Tail), len(l.Frame)}
}

func (t *Tuples) listVectors(four, six *TupleList, msgs []digest.Message, first uint32, buf []byte) (done int) {
	groups := len(msgs) / 8
	if cpu.Best != cpu.AVX512 || groups == 0 || len(buf) < tupleReach {
		return 0
	}
	end4, end6 := four.end(), six.end()
	done = listTuplesAVX512(&msgs[0], int(first), groups, &buf[0], len(buf)-tupleReach, t, &end4, &end6)
	four.Resize(end4.n)
	six.Resize(end6.n)
	return done
}

// listTuplesAVX512 does groups of eight messages, 1 or more. It reads frames from offsets
// up to last.
//
//go:noescape
func listTuplesAVX512(msgs *digest.Message, first, groups int, buf *byte, last int, t *Tuples, four, six *tupleEnd) (done int)

// tunnelPlace is where plain tunnels of eight messages have IP, as the kernels write it: the offsets
// of 14 bytes before it, 0 where there is none, then how much is there from that on, then a byte
// with a bit for each datagram that has a tunnel, and bytes for those that may have a frame, IPv4 and
// IPv6 in it. The last words are free: the next place begins in another line of the cache.
type tunnelPlace [24]uint64

// some returns which messages have a tunnel, plain or of another shape.
func (p *tunnelPlace) some() uint64 { return p[16] & 0xff }

// tunnelPlaces has room for eight places in lines of their own.
type tunnelPlaces [9]tunnelPlace

func (p *tunnelPlaces) aligned() *[8]tunnelPlace {
	const line = 64
	begin := unsafe.Pointer(p)
	return (*[8]tunnelPlace)(unsafe.Add(begin, -uintptr(begin)%line))
}

// openVectors does the messages that fill whole vectors, and returns how many. found is as of
// OpenTunnels.
func (t *Tunnels) openVectors(d *Datagrams, msgs []digest.Message, numbers []uint16, rest, others []uint64, buf []byte, deep int) (done int, found Found) {
	if cpu.Best != cpu.AVX512 || t.anySource || len(msgs) < 8 || len(buf) < datagramReach {
		return 0, 0
	}
	var places tunnelPlaces
	done = len(msgs) &^ 7
	for i := 0; i < done; i += 64 {
		found |= t.openWord(d, msgs[i:min(i+64, done)], numbers[i:], &rest[i/64], &others[i/64], buf, places.aligned(), deep)
	}
	return done, found
}

// openWord does up to 64 messages: all of them by one kernel, then by the other, so that a CPU finds
// much to do at a time.
func (t *Tunnels) openWord(d *Datagrams, msgs []digest.Message, numbers []uint16, rest, others *uint64, buf []byte, places *[8]tunnelPlace, deep int) (found Found) {
	left, other := (*uint8)(unsafe.Pointer(rest)), (*uint8)(unsafe.Pointer(others))
	for groups := len(msgs) / 8; placeTunnelsAVX512(&msgs[0], &numbers[0], other, groups, &buf[0], len(buf)-tunnelHeaders, t, &places[0]) != 0; deep-- {
		if deep <= 0 {
			for i := range groups {
				*others |= places[i].some() << (8 * i)
			}
			break
		}
		found |= foundBits(readTunnelsAVX512(&msgs[0], &numbers[0], left, other, groups, &buf[0], d, &places[0]))
	}
	return found
}

// placeTunnelsAVX512 finds one tunnel of each of 1 to 8 groups of eight messages. It reads headers
// above IP from offsets up to last. Each group has a byte of others. some is not 0 if a place has
// some tunnel.
//
//go:noescape
func placeTunnelsAVX512(msgs *digest.Message, numbers *uint16, others *uint8, groups int, buf *byte, last int, t *Tunnels, places *tunnelPlace) (some uint64)

// readTunnelsAVX512 reads the datagrams there. Each group has a byte of rest, too. cut and broken are
// as of findDatagramsAVX512.
//
//go:noescape
func readTunnelsAVX512(msgs *digest.Message, numbers *uint16, rest, others *uint8, groups int, buf *byte, d *Datagrams, places *tunnelPlace) (cut, broken uint64)

// countGroups counts as Count does, in groups of eight frames, 1 or more.
func (w *Whole) countGroups(all *frames.Frame, groups int, buf *byte, last int) (n int) {
	if cpu.Best == cpu.AVX512 {
		return countWholeAVX512(all, groups, buf, last, w)
	}
	return countWhole(all, wholeGroup*groups, buf, last, w)
}

// countWholeAVX512 does groups of eight frames, 1 or more. It reads frames from offsets up to last.
//
//go:noescape
func countWholeAVX512(all *frames.Frame, groups int, buf *byte, last int, w *Whole) (done int)

// placeGroup is how many messages placeTunnels takes at a time.
const placeGroup = 4

// carryingGroup is how many protocols carryingWord does at a time.
const carryingGroup = 32
