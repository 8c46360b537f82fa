package capture

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
