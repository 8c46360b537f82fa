// SPDX-License-Identifier: Apache-2.0

package export

import (
	"container/list"
	"slices"
	"time"

	"github.com/flowdedup/flowdedup/engine/calendar"
)

// kept is a message that waits for a template.
type kept struct {
	message message
	source  *source
	place   *list.Element // in Reader.waiting
	missing uint16
	giveUp  bool // the template does not matter any more
}

const (
	// maxKeptBySource bounds the bytes of messages kept for a source. An eighth of the bound
	// for all sources does, too.
	maxKeptBySource = 256 << 10
	// keptCost is about the memory of a message without its bytes.
	keptCost = 512
)

// hold is how long messages wait for their templates. Exporters send these each minute to
// each half hour.
const hold = 5 * time.Minute

// keep keeps a message until its template comes, or there is too much to keep.
func (r *Reader) keep(m *message, s *source, missing uint16) {
	k := &kept{message: *m, source: s, missing: missing}
	k.message.data = slices.Clone(m.data)
	k.place = r.waiting.PushBack(k)
	s.waiting = append(s.waiting, k)
	r.change(k, 1)
	for s.keptBytes > min(maxKeptBySource, r.mostKept/8) {
		r.giveUp(s.waiting[0])
	}
	for r.keptBytes > r.mostKept {
		r.giveUp(r.oldest())
	}
}

// oldest returns the message that has waited for longest, nil if none waits.
func (r *Reader) oldest() *kept {
	if e := r.waiting.Front(); e != nil {
		return e.Value.(*kept)
	}
	return nil
}

// change counts a message that is kept from now on (1), or not any more (-1).
func (r *Reader) change(k *kept, by int) {
	size := by * (len(k.message.data) + keptCost)
	r.keptBytes += size
	k.source.keptBytes += size
	r.counts.Waiting += uint64(by)
}

// release lets the messages of a source go on that wait for a template.
func (r *Reader) release(s *source, id uint16, giveUp bool) {
	s.waiting = slices.DeleteFunc(s.waiting, func(k *kept) bool {
		if k.missing != id {
			return false
		}
		r.change(k, -1)
		r.waiting.Remove(k.place)
		k.giveUp = giveUp
		r.ready = append(r.ready, k)
		return true
	})
}

// giveUp lets a message go on without its template, and so all of the source that wait for
// it or come until it does: nobody waits twice.
func (r *Reader) giveUp(k *kept) {
	k.source.learn(k.missing, &template{missing: true})
	r.sources.settle(k.source)
	r.release(k.source, k.missing, true)
}

// expire gives up messages that have waited for too long.
func (r *Reader) expire() {
	for k := r.oldest(); k != nil && calendar.Since(r.now, k.message.received) > int64(hold); k = r.oldest() {
		r.giveUp(k)
	}
}

// flush gives all up.
func (r *Reader) flush() {
	for k := r.oldest(); k != nil; k = r.oldest() {
		r.giveUp(k)
	}
}
