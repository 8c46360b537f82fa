//go:build amd64 && !purego

package headers

import (
	"unsafe"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/asm/internal/cpu"
)

// Frames are found at the levels AVX2 and AVX512. [Tuples.List] has a kernel for AVX512
// alone, which can load from eight places at once; at other levels it lists nothing.

// findVectors does the messages that fill whole vectors, and returns how many.
func (d *Datagrams) findVectors(msgs []digest.Message, numbers []uint16, rest []uint64, buf []byte) (done int) {
	if len(buf) < datagramReach {
		return 0
	}
	switch cpu.Best {
	case cpu.AVX512:
		if groups := len(msgs) / 8; groups > 0 {
			findDatagramsAVX512(&msgs[0], &numbers[0], (*uint8)(unsafe.Pointer(&rest[0])), groups, &buf[0], len(buf)-datagramReach, d)
			return 8 * groups
		}
	case cpu.AVX2:
		return d.findPlain(msgs, numbers, rest, buf)
	}
	return 0
}

// findPlain does the messages that fill whole vectors, and returns how many. The kernel
// takes frames without tags and stops where others are. Those go one by one: a vector of
// them at first, and twice as many each time that the kernel gets nowhere.
func (d *Datagrams) findPlain(msgs []digest.Message, numbers []uint16, rest []uint64, buf []byte) (done int) {
	const group, most = 4, 64
	others := group
	for len(msgs)-done >= group {
		if n := findDatagramsAVX2(&msgs[done], &numbers[done], (len(msgs)-done)/group, &buf[0], len(buf)-datagramReach, d); n > 0 {
			done += group * n
			others = group
			continue
		}
		next := min(done+others, len(msgs))
		d.findGeneric(msgs[:next], numbers, rest, buf, done)
		done, others = next, min(2*others, most)
	}
	return done
}

// findDatagramsAVX512 does groups of eight messages, 1 or more. It reads frames from
// offsets up to last. Each group has a byte of rest.
//
//go:noescape
func findDatagramsAVX512(msgs *digest.Message, numbers *uint16, rest *uint8, groups int, buf *byte, last int, d *Datagrams)

// findDatagramsAVX2 does groups of four messages, 1 or more, and returns how many: it stops
// before a group with a message that is not that of a plain frame at an offset up to last.
//
//go:noescape
func findDatagramsAVX2(msgs *digest.Message, numbers *uint16, groups int, buf *byte, last int, d *Datagrams) (done int)

// tupleReach is what is read of a frame, its tags taken out.
const tupleReach = datagramStart + 44

// tupleEnd is a list as the kernel knows it.
type tupleEnd struct {
	frame, at *uint32
	tail      *uint64
	n         int
}

func (l *TupleList) end() tupleEnd {
	return tupleEnd{unsafe.SliceData(l.Frame), unsafe.SliceData(l.At), unsafe.SliceData(l.Tail), len(l.Frame)}
}

func (t *Tuples) listVectors(four, six *TupleList, msgs []digest.Message, first uint32, buf []byte) (done int, can bool) {
	groups := len(msgs) / 8
	if cpu.Best != cpu.AVX512 {
		return 0, false
	}
	if groups == 0 || len(buf) < tupleReach {
		return 0, true
	}
	end4, end6 := four.end(), six.end()
	done = listTuplesAVX512(&msgs[0], int(first), groups, &buf[0], len(buf)-tupleReach, t, &end4, &end6)
	four.Resize(end4.n)
	six.Resize(end6.n)
	return done, true
}

// listTuplesAVX512 does groups of eight messages, 1 or more. It reads frames from offsets
// up to last.
//
//go:noescape
func listTuplesAVX512(msgs *digest.Message, first, groups int, buf *byte, last int, t *Tuples, four, six *tupleEnd) (done int)
