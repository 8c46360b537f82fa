package capture

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"sync"

	"github.com/klauspost/compress/gzip"
)

// errMember is what a member is that does not end where its header says.
var errMember = errors.New("a member is not as long as its header says")

// unpackSize is about how much compressed data one goroutine takes at a time.
const unpackSize = 128 << 10

// bgzfReader decompresses members of BGZF on several goroutines, of which one finds
// them, and hands out their content in order. What follows the last member that is
// sound as far as its header tells is left to an ordinary gzip reader, which then has
// to say what is wrong with it.
type bgzfReader struct {
	br    *bufio.Reader
	free  chan *unpackPiece
	work  chan *unpackPiece
	queue chan *unpackPiece // those at work, in order; closed when no more are found
	stop  chan struct{}

	current *unpackPiece // what Read hands out, from off on
	off     int
	rest    *gzip.Reader // of br, once all pieces were handed out
	err     error
}

// unpackPiece is some members in a row.
type unpackPiece struct {
	in, out  []byte
	size     int // of the content, as the members say
	zr       gzip.Reader
	src      bytes.Reader
	err      error
	unpacked sync.WaitGroup
}

func newBgzfReader(br *bufio.Reader, workers int) *bgzfReader {
	pieces := workers + 2 // one is filled and one read meanwhile
	r := &bgzfReader{
		br: br, stop: make(chan struct{}),
		free: make(chan *unpackPiece, pieces), work: make(chan *unpackPiece, pieces), queue: make(chan *unpackPiece, pieces),
	}
	for range pieces {
		r.free <- &unpackPiece{}
	}
	go r.find()
	for range workers {
		go func() {
			for p := range r.work {
				p.unpack()
			}
		}()
	}
	return r
}

// close ends the goroutines, once the read returns that one of them may be in.
func (r *bgzfReader) close() { close(r.stop) }

// find cuts the stream into pieces until it meets something else than a member.
func (r *bgzfReader) find() {
	defer close(r.queue)
	defer close(r.work)
	for {
		var p *unpackPiece
		select {
		case p = <-r.free:
		case <-r.stop:
			return
		}
		p.take(r.br)
		if len(p.in) == 0 {
			return
		}
		p.unpacked.Add(1)
		r.work <- p
		r.queue <- p
	}
}

// take moves members that are in the buffer of br to p, at least one if there is one.
func (p *unpackPiece) take(br *bufio.Reader) {
	p.in, p.size = p.in[:0], 0
	for need := bgzfHeaderLen; len(p.in) == 0 || br.Buffered() >= need && len(p.in) < unpackSize; {
		// What keeps Peek from its bytes shows when they are read.
		head, _ := br.Peek(need)
		n, ok := bgzfMember(head)
		switch {
		case !ok:
			return
		case len(head) < n && need == n:
			return // cut short
		case len(head) < n:
			need = n
			continue
		}
		size := le.Uint32(head[n-4:])
		if size > bgzfMaxData {
			return
		}
		p.size += int(size)
		p.in = append(p.in, head[:n]...)
		_, _ = br.Discard(n) // they are in its buffer
		need = bgzfHeaderLen
	}
}

// unpack decompresses a piece. Before an error out holds what came before it.
func (p *unpackPiece) unpack() {
	defer p.unpacked.Done()
	if cap(p.out) < p.size {
		p.out = make([]byte, p.size)
	}
	p.out = p.out[:p.size]
	p.src.Reset(p.in)
	p.err = p.zr.Reset(&p.src)
	n := 0
	if p.err == nil {
		n, p.err = io.ReadFull(&p.zr, p.out)
	}
	p.out = p.out[:n]
	if p.err == nil {
		var more [1]byte
		if n, p.err = p.zr.Read(more[:]); n > 0 {
			p.err = errMember
		}
	}
	switch p.err {
	case io.EOF:
		p.err = nil
	case io.ErrUnexpectedEOF:
		p.err = errMember
	}
}

// Read waits for the oldest piece.
func (r *bgzfReader) Read(p []byte) (int, error) {
	for {
		switch {
		case r.current != nil && r.off < len(r.current.out):
			n := copy(p, r.current.out[r.off:])
			r.off += n
			return n, nil
		case r.err != nil:
			return 0, r.err
		case r.rest != nil:
			return r.rest.Read(p)
		}
		r.next()
	}
}

// next makes the next piece current, or what follows the last one.
func (r *bgzfReader) next() {
	if r.current != nil {
		r.free <- r.current
	}
	r.off = 0
	if r.current = <-r.queue; r.current == nil {
		r.rest, r.err = gzip.NewReader(r.br)
		return
	}
	r.current.unpacked.Wait()
	r.err = r.current.err
}
