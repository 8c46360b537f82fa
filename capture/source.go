package capture

// Source yields a stream of packets in batches.
type Source interface {
	// Next replaces the content of b with the next records of the stream. It
	// returns io.EOF, with b empty, at the end. On damage it returns an
	// *InputError, and where reading failed a *ReadError, with b empty, after
	// everything readable before it was delivered by earlier calls. A nil error
	// may come with no frames.
	Next(b *Batch) error
	// Inputs returns the names of the inputs, indexed by Section.Input.
	Inputs() []string
	// Offset returns how many bytes of the inputs (as stored, before any
	// decompression) were consumed, and their total size where it is known,
	// else 0. It may be called while another goroutine is in Next.
	Offset() (done, total int64)
	// Size returns how many bytes of capture there are, decompressed, or 0
	// where that is not known before they have been read.
	Size() int64
	// Close releases the inputs.
	Close() error
}

// Preloader is a Source whose input several goroutines can read at once, each a chunk
// of it, where only what is made of the chunks needs their order.
//
// Reserve chooses the chunk of the input that Next is to make into the batch b, and
// ReadReserved reads it. Reserve is not for two goroutines at once; ReadReserved is,
// while others are in Reserve, ReadReserved or Next, each with a batch of its own. Next
// must then be called for batches in the order of their Reserves. It may return batches
// without content: a record longer than a chunk comes whole, with the last chunk of it.
//
// Where reading in chunks is impossible (a pipe, a compressed file), both do nothing,
// and it is Next that reads.
type Preloader interface {
	Source
	Reserve(b *Batch)
	ReadReserved(b *Batch)
}
