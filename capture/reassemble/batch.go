// SPDX-License-Identifier: Apache-2.0

package reassemble

import (
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
)

// Pass takes the next batch of the stream, and replaces its content by the packets that wait no
// longer. all says that none is to wait any more. A batch without fragments of tunnels stays as
// it is, unless packets wait. Records of any other batch move to new memory, which the batch owns.
func (j *Joiner) Pass(b *capture.Batch, all bool) {
	j.in = b
	j.found = headers.AppendFragments(j.found[:0], b)
	before := uint64(len(j.waiting.Frames))
	if len(j.found)+j.order.Len()+int(before) > 0 {
		j.scan(j.number+before, all)
		if to := j.settled(); before > 0 || len(j.waiting.Blocks) > 0 || len(j.done) > 0 || to < j.number+uint64(len(b.Frames)) {
			j.deliver(to)
			return
		}
	}
	j.number += uint64(len(b.Frames))
}

// Rest is Pass at the end of the stream: it fills b with the packets that still wait.
func (j *Joiner) Rest(b *capture.Batch) {
	b.Reset()
	b.Interfaces, b.Sections = j.waiting.Interfaces, j.waiting.Sections
	j.Pass(b, true)
}

// scan takes the fragments of a batch whose first packet has a number. The clocks run while
// datagrams wait.
func (j *Joiner) scan(number uint64, all bool) {
	found := j.found
	for i := range j.in.Frames {
		f := &j.in.Frames[i]
		if j.order.Len() == 0 {
			if len(found) == 0 {
				break
			}
			j.latest, j.pos = f.Time, 0
		}
		if f.Time != capture.NoTime {
			j.latest = max(j.latest, f.Time)
		}
		j.pos += uint64(f.CapLen) + 32
		j.expire(false)
		if len(found) > 0 && found[0].Frame == i {
			j.take(&found[0], number+uint64(i))
			found = found[1:]
		}
	}
	j.expire(all)
}

// at returns the batch and place of a packet.
func (j *Joiner) at(number uint64) (b *capture.Batch, i int) {
	i = int(number - j.number)
	if n := len(j.waiting.Frames); i >= n {
		return j.in, i - n
	}
	return &j.waiting, i
}

// settled returns the number of the first packet that has to wait: the first fragment of a
// datagram that is not whole, or of a whole datagram with such a fragment between its own.
func (j *Joiner) settled() uint64 {
	to := j.number + uint64(len(j.waiting.Frames)+len(j.in.Frames))
	for e := j.order.Front(); e != nil; e = e.Next() {
		if d := e.Value.(*datagram); d.state == open {
			to = min(to, d.first)
			break
		}
	}
	for i := len(j.done) - 1; i >= 0; i-- {
		if d := j.done[i]; d.last >= to {
			to = min(to, d.first)
		}
	}
	return to
}

// The fate of a packet is absorbed, or 1 more than the number of the datagram that it completes.
const (
	stays    = 0
	absorbed = -1
)

// deliver puts the packets before number to into the batch, and has the others wait.
func (j *Joiner) deliver(to uint64) {
	j.setFates()
	out, next := &j.out, &j.next
	out.Reset()
	next.Reset()
	out.Buf = make([]byte, 0, j.room())
	next.Interfaces, next.Sections = j.in.Interfaces, j.in.Sections
	number := j.number
	target := out
	for _, b := range [...]*capture.Batch{&j.waiting, j.in} {
		block := 0
		for i := range len(b.Frames) + 1 {
			if i < len(b.Frames) && number >= to || number > to {
				target = next
			}
			for ; block < len(b.Blocks) && int(b.Blocks[block].Before) <= i; block++ {
				addBlock(target, b, block)
			}
			if i == len(b.Frames) {
				break
			}
			if fate := j.fates[number-j.number]; target == next || fate == stays {
				add(target, b, i)
			} else if fate > 0 {
				j.addWhole(out, j.done[fate-1])
			}
			number++
		}
	}
	n := 0
	for n < len(j.done) && j.done[n].last < to {
		n++
	}
	j.done = append(j.done[:0], j.done[n:]...)
	j.number = to
	b := j.in
	b.Buf, b.Frames, b.Blocks = out.Buf, append(b.Frames[:0], out.Frames...), append(b.Blocks[:0], out.Blocks...)
	j.waiting, j.next = j.next, j.waiting
}

// setFates says what becomes of each packet.
func (j *Joiner) setFates() {
	j.fates = capture.Zeroed(j.fates, len(j.waiting.Frames)+len(j.in.Frames))
	for k, d := range j.done {
		for i := range d.pieces {
			j.fates[d.pieces[i].number-j.number] = absorbed
		}
		j.fates[d.last-j.number] = int32(k + 1)
	}
}

// room is enough for all that is delivered.
func (j *Joiner) room() (bytes int) {
	for _, b := range [...]*capture.Batch{&j.waiting, j.in} {
		for i := range b.Frames {
			bytes += max(int(b.Frames[i].RecordLen), int(b.Frames[i].CapLen))
		}
		for i := range b.Blocks {
			bytes += int(b.Blocks[i].Len)
		}
	}
	for _, d := range j.done {
		bytes += d.room(j)
	}
	return bytes
}

// add appends packet i of a batch. Without a record its bytes are the record.
func add(to, from *capture.Batch, i int) {
	f := from.Frames[i]
	if f.RecordLen == 0 {
		f.Record, f.RecordLen = f.Data, f.CapLen
	}
	shift := uint32(len(to.Buf)) - f.Record // modulo 1<<32
	to.Buf = append(to.Buf, from.Buf[f.Record:f.Record+f.RecordLen]...)
	f.Record += shift
	f.Data += shift
	to.Frames = append(to.Frames, f)
}

func addBlock(to, from *capture.Batch, i int) {
	k := from.Blocks[i]
	data := from.Block(i)
	k.Offset, k.Before = uint32(len(to.Buf)), uint32(len(to.Frames))
	to.Buf = append(to.Buf, data...)
	to.Blocks = append(to.Blocks, k)
}
