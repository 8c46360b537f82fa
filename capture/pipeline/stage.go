package pipeline

// orderedStage is work that is done on one batch after another, in the order of the stream:
// by the worker that leaves the batch there whose turn it is, who goes on with those
// behind it that are ready.
type orderedStage struct {
	ready []*slot // by their number modulo len(ready)
	turn  int     // the number of the batch that is next
	busy  bool    // a worker is at it
}

func (g *orderedStage) put(s *slot) { g.ready[s.number%len(g.ready)] = s }

// next takes the batch whose turn it is, if it is there, or nil.
func (g *orderedStage) next() *slot {
	place := &g.ready[g.turn%len(g.ready)]
	s := *place
	*place = nil
	return s
}

// deliver puts a batch in its place, and applies and writes those whose turn it is.
func (p *Pipeline) deliver(s *slot) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.apply.put(s)
	if !p.apply.busy {
		p.applyReady()
	}
	if !p.write.busy {
		p.writeReady()
	}
	p.progress.Broadcast()
}

// applyReady applies batches for as long as there are any. It is called with p.mu,
// which it gives up while it is at work.
func (p *Pipeline) applyReady() {
	for !p.stopped {
		s := p.apply.next()
		if s == nil {
			return
		}
		p.apply.busy = true
		p.mu.Unlock()
		err := p.applyOne(s)
		p.mu.Lock()
		p.apply.busy = false
		p.complete = s.err != nil
		if err != nil {
			p.stop(err)
			return
		}
		p.apply.turn++
		p.write.put(s)
	}
}

// writeReady is applyReady for batches that were applied: all of them, whatever has
// stopped the pipeline meanwhile but a failure to write.
func (p *Pipeline) writeReady() {
	for {
		s := p.write.next()
		if s == nil {
			return
		}
		if !p.unwritable {
			p.write.busy = true
			p.mu.Unlock()
			err := s.task.Write(&s.batch)
			p.mu.Lock()
			p.write.busy = false
			if err != nil {
				// Later batches may have been the last ones, or damaged.
				p.stop(err)
				p.unwritable, p.err = true, err
			}
		}
		p.write.turn++
		p.free <- s
	}
}
