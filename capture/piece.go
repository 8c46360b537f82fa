package capture

// Preloader is a Source whose input several goroutines can read at once, each a piece
// of it, where only what is made of the pieces needs their order.
//
// Claim chooses the piece of the input that Next is to make into the batch b, and
// Preload reads it. Claim is not for two goroutines at once; Preload is, while others
// are in Claim, Preload or Next, each with a batch of its own. Next must then be called
// for batches in the order of their Claims. It may return batches without content:
// a record longer than a piece comes whole, with the last piece of it.
//
// Where reading in pieces is impossible (a pipe, a compressed file), both do nothing,
// and it is Next that reads.
type Preloader interface {
	Source
	Claim(b *Batch)
	Preload(b *Batch)
}

// filePiece is a part of a regular file on its way into a batch.
type filePiece struct {
	claimed bool
	off     int64
	want    int // bytes, 0 at the end
	data    []byte
	err     error // what came with or after data
}

// maxHeadroom is how much of a record's start a batch has room for in front of a
// piece. Longer ones are put together elsewhere.
const maxHeadroom = 64 << 10

// headroom is that for chunks of the given size: whole pages, so that pieces are read
// to where pages begin.
func headroom(chunk int) int {
	const page = 4096
	return min(max(chunk/8/page, 1)*page, maxHeadroom)
}

// room returns the memory of b for a piece, behind the headroom.
func (r *reader) room(b *Batch) []byte {
	head := headroom(r.chunk)
	if len(b.room) < head+r.chunk {
		b.room = make([]byte, head+r.chunk)
	}
	return b.room[head : head+r.chunk : head+r.chunk]
}

// Claim implements Preloader.
func (r *reader) Claim(b *Batch) {
	b.piece = filePiece{}
	if r.in.regular == nil || len(r.in.layers) > 0 {
		return
	}
	b.piece.claimed = true
	if b.piece.err = r.in.wake(); b.piece.err == nil {
		b.piece.off, b.piece.want, b.piece.err = r.in.regular.claim(r.chunk)
	}
}

// Preload implements Preloader.
func (r *reader) Preload(b *Batch) {
	p := &b.piece
	if !p.claimed || p.err != nil {
		return
	}
	var n int
	data := r.room(b)[:p.want]
	n, p.err = r.in.regular.load(data, p.off)
	p.data = data[:n]
	r.in.raw.done.Add(int64(n))
}

// load reads the next piece of the input into b.
func (r *reader) load(b *Batch) {
	r.Claim(b)
	if b.piece.claimed {
		r.Preload(b)
		return
	}
	b.piece.data, b.piece.err = readUntil(r.in, r.room(b)[:0], 1, r.chunk)
}

// place returns all that is known from base on: what was carried over, and the piece
// that b has. It lies apart from b, in what was the carry, if that is long: a long
// record grows by appending, so that it is not copied for each of its pieces.
func (r *reader) place(b *Batch) (whole []byte, apart bool) {
	head, data := headroom(r.chunk), b.piece.data
	if len(r.carry) > head {
		whole, r.carry = append(r.carry, data...), nil
		return whole, true
	}
	r.room(b)
	start := head - len(r.carry)
	copy(b.room[start:], r.carry)
	return b.room[start : head+len(data)], false
}
