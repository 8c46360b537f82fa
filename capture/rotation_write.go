package capture

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/flowdedup/flowdedup/capture/outfile"
)

// Write is that of Writer. An error is that of a file, and lasts until Retry: until then
// packets are counted as lost, and headers are still learned.
func (r *Rotation) Write(b *Batch, drop []uint64) error {
	checkDrop(b, drop)
	if r.ended {
		return fmt.Errorf("write %s: %w", r.name, outfile.ErrClosed)
	}
	r.poll()
	if r.kind == unchosen {
		if len(b.Sections) == 0 {
			return nil
		}
		opt := WriterOptions{Merged: r.opt.Merged, Format: FormatOf(r.name)}
		var unfit error
		if r.kind, unfit = opt.layout(b); unfit != nil {
			r.warn(unfit)
		}
	}
	r.head.Interfaces, r.head.Sections = b.Interfaces, b.Sections
	if r.fits(b) {
		r.note(b, drop)
		r.write(b, drop, wholeOf(b))
		for i := range b.Blocks {
			r.head.learn(b, i, r.kind)
		}
		return r.err
	}
	pos := 0
	for i := range b.Blocks {
		before := int(b.Blocks[i].Before)
		r.frames(b, drop, pos, before)
		pos = before
		r.block(b, i)
	}
	r.frames(b, drop, pos, len(b.Frames))
	return r.err
}

// mostGrowth is more than a packet can take in a file beyond its record.
const mostGrowth = 128

// fits reports whether all of b goes to the file being written, whatever is dropped.
func (r *Rotation) fits(b *Batch) bool {
	return r.file != nil && r.file.buf.len()+int64(len(b.Buf))+mostGrowth*int64(len(b.Frames)) <= r.file.limit &&
		!r.clock.mayBeOver(b.Frames)
}

// note looks for the first time of the file being written, which all of b goes to.
func (r *Rotation) note(b *Batch, drop []uint64) {
	for pos := 0; pos < len(b.Frames) && r.file.first == NoTime; {
		lo, hi := nextRun(drop, pos, len(b.Frames))
		for _, frame := range b.Frames[lo:hi] {
			r.file.note(&r.clock, frame.Time)
		}
		pos = hi
	}
}

// frames writes the kept ones of frames pos..end-1.
func (r *Rotation) frames(b *Batch, drop []uint64, pos, end int) {
	for r.err == nil {
		pos, _ = nextRun(drop, pos, end)
		if pos == end || !r.open() {
			break
		}
		stop := r.reach(b, drop, pos, end)
		r.write(b, drop, part{from: pos, to: stop})
		if stop < end && r.err == nil {
			r.close()
		}
		pos = stop
	}
	if r.err != nil {
		r.stats.Lost += kept(drop, pos, end)
	}
}

// reach returns the first kept frame of pos..end-1 that belongs to another file than
// the one being written, or end.
func (r *Rotation) reach(b *Batch, drop []uint64, pos, end int) int {
	left, begun, packets := r.file.limit-r.file.buf.len(), r.file.begun, r.file.packets > 0
	s, ok := r.file.enc.(*sectionWriter)
	timed := ok && s.last != NoTime
	for pos < end {
		lo, hi := nextRun(drop, pos, end)
		for i := lo; i < hi; i++ {
			left -= r.file.enc.frameLen(b, i, timed)
			at := b.Frames[i].Time
			if left < 0 && begun || r.clock.over(at) && packets {
				return i
			}
			r.file.note(&r.clock, at)
			begun, packets = true, true
			timed = timed || at != NoTime
		}
		pos = hi
	}
	return end
}

// block writes block i of b. A section header or interface description that no packet
// may follow begins no file.
func (r *Rotation) block(b *Batch, i int) {
	k := &b.Blocks[i]
	if r.file != nil && r.file.begun && r.file.buf.len()+int64(k.Len) > r.file.limit {
		r.close()
	}
	if r.err == nil && (r.file != nil || !isHeader(k.Type)) && r.open() {
		r.write(b, nil, part{from: int(k.Before), to: int(k.Before), fromBlock: i, toBlock: i + 1})
	}
	r.head.learn(b, i, r.kind)
}

// kept counts the frames of lo..hi-1 that drop keeps.
func kept(drop []uint64, lo, hi int) uint64 {
	n := hi - lo
	if drop == nil || n == 0 {
		return uint64(n)
	}
	first, last := lo>>6, (hi-1)>>6
	for w := first; w <= last; w++ {
		word := drop[w]
		if w == first {
			word &= math.MaxUint64 << (lo & 63)
		}
		if w == last {
			word &= math.MaxUint64 >> (63 - (hi-1)&63)
		}
		n -= bits.OnesCount64(word)
	}
	return uint64(n)
}
