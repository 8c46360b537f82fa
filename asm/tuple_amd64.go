//go:build amd64 && !purego

package asm

import "unsafe"

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

func (t *Tuples) listVectors(four, six *TupleList, msgs []Message, first uint32, buf []byte) (done int, can bool) {
	groups := len(msgs) / 8
	if level != levelAVX512 {
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

// listTuplesAVX512 takes groups of eight messages, 1 or more. What it reads of a frame
// starts at offsets up to last.
//
//go:noescape
func listTuplesAVX512(msgs *Message, first, groups int, buf *byte, last int, t *Tuples, four, six *tupleEnd) (done int)
