package capture

import (
	"bytes"
	"hash/crc32"
	"io"
	"sync"

	"github.com/klauspost/compress/flate"
)

// bgzfPiece is how much one goroutine compresses at a time.
const bgzfPiece = 8 * bgzfData

// bgzfWriter compresses pieces of a stream on several goroutines and writes them in
// their order. The bytes do not depend on how many goroutines there are.
type bgzfWriter struct {
	w      io.Writer
	pieces []packPiece // a ring: those from at on are the oldest ones that are packed or being so
	at     int         // the one that is filled
	work   chan *packPiece
	err    error
}

// packPiece is one piece and the memory to compress it.
type packPiece struct {
	in     []byte
	out    bytes.Buffer
	flate  *flate.Writer
	packed sync.WaitGroup
}

// newBgzfWriter compresses at the fastest level on so many goroutines, which end with
// Close.
func newBgzfWriter(w io.Writer, workers int) (*bgzfWriter, error) {
	// One is being filled while all workers have theirs.
	b := &bgzfWriter{w: w, pieces: make([]packPiece, workers+1), work: make(chan *packPiece, workers)}
	for i := range b.pieces {
		z, err := flate.NewWriter(nil, flate.BestSpeed)
		if err != nil {
			return nil, err
		}
		b.pieces[i].in, b.pieces[i].flate = make([]byte, 0, bgzfPiece), z
	}
	for range workers {
		go func() {
			for p := range b.work {
				p.pack()
			}
		}()
	}
	return b, nil
}

// Write hands full pieces to the workers and waits for the oldest one when all of
// them are taken.
func (b *bgzfWriter) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0 && b.err == nil; {
		in := &b.pieces[b.at].in
		n := min(len(rest), bgzfPiece-len(*in))
		*in = append(*in, rest[:n]...)
		rest = rest[n:]
		if len(*in) == bgzfPiece {
			b.next()
		}
	}
	if b.err != nil {
		return 0, b.err
	}
	return len(p), nil
}

// next has the current piece packed, and writes the oldest one, which becomes the
// current one.
func (b *bgzfWriter) next() {
	p := &b.pieces[b.at]
	p.packed.Add(1)
	b.work <- p
	b.at = (b.at + 1) % len(b.pieces)
	b.collect(&b.pieces[b.at])
}

// collect writes a piece once it is packed, if it holds anything, and empties it.
func (b *bgzfWriter) collect(p *packPiece) {
	p.packed.Wait()
	if p.out.Len() > 0 && b.err == nil {
		_, b.err = b.w.Write(p.out.Bytes())
	}
	p.in = p.in[:0]
	p.out.Reset()
}

// Close writes what is left and the end mark.
func (b *bgzfWriter) Close() error {
	for range b.pieces {
		b.next()
	}
	close(b.work)
	if b.err == nil {
		_, b.err = io.WriteString(b.w, bgzfEnd)
	}
	return b.err
}

// pack compresses a piece into whole members.
func (p *packPiece) pack() {
	defer p.packed.Done()
	for in := p.in; len(in) > 0; {
		n := min(len(in), bgzfData)
		at := p.out.Len()
		p.out.WriteString(bgzfHeader + "\x00\x00")
		p.flate.Reset(&p.out)
		// Errors could only come from a bytes.Buffer, which has none.
		_, _ = p.flate.Write(in[:n])
		_ = p.flate.Close()
		var trailer [bgzfTrailer]byte
		le.PutUint32(trailer[:], crc32.ChecksumIEEE(in[:n]))
		le.PutUint32(trailer[4:], uint32(n))
		p.out.Write(trailer[:])
		le.PutUint16(p.out.Bytes()[at+len(bgzfHeader):], uint16(p.out.Len()-at-1))
		in = in[n:]
	}
}
