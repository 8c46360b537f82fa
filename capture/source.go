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

// Writer writes a stream of batches, less some of their frames, as a capture
// file that Wireshark, tcpdump and libpcap read.
type Writer interface {
	// Write writes all blocks of b and those frames i whose bit in drop (bit
	// i%64 of word i/64) is 0; a nil drop keeps all. It panics when drop is
	// neither nil nor long enough. b and drop stay the caller's and are not
	// changed. What is written has reached the io.Writer when Write returns,
	// unless that is an outfile.File on a regular file or one that compresses:
	// those gather.
	//
	// An error of the io.Writer is returned as it is and lasts.
	Write(b *Batch, drop []uint64) error
	// Written returns how many packets the io.Writer has taken.
	Written() uint64
	// Skipped returns how many pcapng blocks could not be carried over: of an
	// unknown type in the other byte order, or damaged inside.
	Skipped() uint64
	// Flush writes what is still gathered, and ends a block of an outfile.File
	// that compresses, so that others can read all packets that were written.
	Flush() error
	// Close writes what is still gathered. It does not close the io.Writer.
	Close() error
}
