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
