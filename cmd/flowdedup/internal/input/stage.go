package input

import (
	"errors"
	"io"
)

// stage is work that is done on one batch after another, in the order of the stream:
// by the worker that leaves the batch there whose turn it is, who goes on with those
// behind it that are ready.
type stage struct {
	ready []*slot // by their number modulo len(ready)
	turn  int     // the number of the batch that is next
	busy  bool    // a worker is at it
}

func (g *stage) put(s *slot) { g.ready[s.number%len(g.ready)] = s }

// next takes the batch whose turn it is, if it is there, or nil.
func (g *stage) next() *slot {
	place := &g.ready[g.turn%len(g.ready)]
	s := *place
	*place = nil
	return s
}

// deliver puts a batch in its place, and applies and writes those whose turn it is.
func (l *line) deliver(s *slot) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.apply.put(s)
	if !l.apply.busy {
		l.applyReady()
	}
	if !l.write.busy {
		l.writeReady()
	}
	l.moved.Broadcast()
}

// applyReady applies batches for as long as there are any. It is called with l.mu,
// which it gives up while it is at work.
func (l *line) applyReady() {
	for !l.stopped {
		s := l.apply.next()
		if s == nil {
			return
		}
		l.apply.busy = true
		l.mu.Unlock()
		err := l.applied(s)
		l.mu.Lock()
		l.apply.busy = false
		l.complete = s.err != nil
		if err != nil {
			l.stop(err)
			return
		}
		l.apply.turn++
		l.write.put(s)
	}
}

// writeReady is applyReady for batches that were applied: all of them, whatever has
// stopped the line meanwhile but a failure to write.
func (l *line) writeReady() {
	for {
		s := l.write.next()
		if s == nil {
			return
		}
		if !l.unwritable {
			l.write.busy = true
			l.mu.Unlock()
			err := s.task.Write(&s.batch)
			l.mu.Lock()
			l.write.busy = false
			if err != nil {
				// Later batches may have been the last ones, or damaged.
				l.stop(err)
				l.unwritable, l.err = true, err
			}
		}
		l.write.turn++
		l.free <- s
	}
}

// applied does what depends on the batches before, or returns what came in place of
// a batch.
func (l *line) applied(s *slot) error {
	switch {
	case l.ctx.Err() != nil:
		return l.ctx.Err()
	case errors.Is(s.err, io.EOF):
		return io.EOF
	case s.err != nil:
		return describe(s.err)
	}
	if err := l.stream.filter.judge(&s.sorted, l.stream.packets); err != nil {
		return err
	}
	if err := s.task.Apply(&s.batch); err != nil {
		return err
	}
	l.stream.count(len(s.batch.Frames), s.sorted.filtered)
	return nil
}
