// SPDX-License-Identifier: Apache-2.0

package capture

// Source yields a stream of packets in batches.
type Source interface {
	// Next replaces the content of b with the next records of the stream. At the end it
	// returns io.EOF. It returns an *InputError for damage, and a *ReadError if reading
	// failed, both after earlier calls have delivered everything readable before it.
	// With an error b is empty. A nil error may come without frames.
	Next(b *Batch) error
	// Inputs returns the names of the inputs, indexed by Section.Input.
	Inputs() []string
	// Offset returns how many bytes of the inputs were consumed, as stored, before any
	// decompression, and their total size, or 0 if it is unknown. It may be called during Next.
	Offset() (done, total int64)
	// Size returns the size of the captures in bytes, decompressed, or 0 if it is not
	// known before they have been read.
	Size() int64
	// Close releases the inputs.
	Close() error
}

// Preloader is a Source whose input several goroutines can read at once, a chunk each.
// Only Next needs the order of the chunks.
//
// Reserve assigns the next chunk of the input to the batch b, ReadReserved reads it, and
// Next makes it into the batch. Only one goroutine at a time may be in Reserve, and one in Next. Any
// number may be in ReadReserved meanwhile, each with a batch of its own. Next must be called for batches in the order of their Reserves. It may
// return batches without content: a record longer than a chunk comes whole, with its last
// chunk.
//
// An input that cannot be read in chunks (a pipe, a compressed file) is read in Next.
// Reserve and ReadReserved then do nothing.
type Preloader interface {
	Source
	Reserve(b *Batch)
	ReadReserved(b *Batch)
}

// LiveSource is a Source whose packets come in their own time.
type LiveSource interface {
	Source
	// Behind reports whether more packets wait than one Next takes, so that it is worth
	// while that a second goroutine reads. It must not be called during Next.
	Behind() bool
}

// Lender is a Source whose batches may lie in memory that it needs back. Such a batch is
// valid until the next call of Next with it, GiveBack or Close.
type Lender interface {
	Source
	// GiveBack ends the use of a batch that Next has filled. Any goroutine may call it, also during
	// Next with a different batch.
	GiveBack(b *Batch)
}

// Writer writes a stream of batches, without the frames that a bitmap drops, as a capture
// file that Wireshark, tcpdump and libpcap read.
type Writer interface {
	// Write writes all blocks of b, and each frame i whose bit in drop (bit i%64 of word
	// i/64) is 0. A nil drop keeps all frames. Write panics if drop is not nil and too
	// short. It does not change or keep b and drop. When it returns, everything has
	// reached the io.Writer, unless that is an outfile.File that compresses or is a
	// regular file: there small writes are gathered.
	//
	// An error of the io.Writer is returned unchanged, and by every later call.
	Write(b *Batch, drop []uint64) error
	// Written returns how many packets the io.Writer has taken.
	Written() uint64
	// Skipped returns how many pcapng blocks could not be converted: they are damaged
	// inside, or of an unknown type in the other byte order.
	Skipped() uint64
	// Flush writes gathered data, and ends the block of an outfile.File that compresses, so
	// that other programs can read all packets that were written.
	Flush() error
	// Close writes gathered data. It does not close the io.Writer.
	Close() error
}
