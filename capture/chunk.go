package capture

import (
	"fmt"
	"io"
	"os"
)

// Ceilings on lengths that a file states. Frames of most link types are held to
// libpcap's MAXIMUM_SNAPLEN; those of buses and message transports may be as
// large as Wireshark takes them. A pcapng block may hold the largest frame,
// its header, and 128 KiB of options, as in Wireshark.
const (
	maxCapLen    = 256 << 10
	maxCapLenBig = 128 << 20
	maxBlockLen  = maxCapLenBig + 128<<10 + 32
)

// capLenCeiling returns the largest captured length of a link type. Those with
// the high ceiling are USB of FreeBSD, Linux (two layouts), Darwin and USBPcap,
// and D-Bus.
func capLenCeiling(t LinkType) uint32 {
	switch t {
	case 186, 189, 220, 266, 249, 231:
		return maxCapLenBig
	}
	return maxCapLen
}

// format finds the records of one file format in a buffer.
type format interface {
	// header checks the file header at the start of head. It returns how many
	// bytes of it are needed, or 0 once it has been found sound.
	header(head []byte) (need int, err error)
	// parse appends to b.Frames and b.Blocks what lies in b.Buf, and returns
	// the length of the whole records found. Where it stopped, the next record
	// needs need bytes, or err says why it cannot be one. ended says that nothing
	// comes behind b.Buf.
	parse(b *Batch, ended bool) (used, need int, err error)
	// cut says what is missing of the record that rest, the end of the input,
	// begins with.
	cut(rest []byte) error
	// inHeader says whether rest, where parsing ended for good, lies before
	// everything that could hold a packet.
	inHeader(rest []byte) bool
	// tables returns the interfaces and sections seen so far.
	tables() ([]Interface, []Section)
}

// reader is the Source over one input.
type reader struct {
	name   string
	in     *input
	format format
	chunk  int
	warn   func(error)

	carry   []byte // the start of a record that the last batch ended within
	base    int64  // offset of carry in the stream
	need    int    // bytes from base on that the record is known to need
	readErr error  // what reading ended with, once it has
	err     error  // what Next returns from now on
}

// Next reads about one chunk; see Source.
func (r *reader) Next(b *Batch) error {
	b.Reset()
	if r.err == nil {
		r.fill(b)
	}
	b.Interfaces, b.Sections = r.tables()
	if r.err != nil && len(b.Frames) == 0 && len(b.Blocks) == 0 {
		b.Reset()
		return r.err
	}
	return nil
}

// fill makes b of the piece that was read for it, or else reads until b holds a whole
// record or the input has ended.
func (r *reader) fill(b *Batch) {
	preloaded := b.piece.claimed
	for {
		if !preloaded {
			b.piece = filePiece{}
			if len(r.carry) < r.need && r.readErr == nil {
				r.load(b)
			}
		}
		if done := r.join(b); done || preloaded {
			b.piece = filePiece{}
			return
		}
	}
}

// join delivers the whole records in what was carried over and the piece of b, and
// carries over the rest. It returns false if that is less than one and more may come.
func (r *reader) join(b *Batch) bool {
	if r.readErr != nil {
		b.piece.data = nil // it lies behind the end
	} else {
		r.readErr = b.piece.err
	}
	whole, apart := r.place(b)
	used, err := 0, error(nil)
	if ended := r.readErr != nil; ended || len(whole) >= r.need {
		b.Buf = whole
		used, r.need, err = r.format.parse(b, ended)
	}
	b.Buf = whole[:used:used]
	rest := whole[used:]
	if err == nil && used == 0 {
		err = r.atEnd(rest)
	}
	switch {
	case err != nil:
		r.end(rest, used, err)
	case apart && used == 0:
		r.carry = whole
	default:
		r.carry = append(r.carry[:0], rest...)
		r.base += int64(used)
	}
	return err != nil || used > 0
}

// atEnd says how the input ended, once reading has, if rest is what is left of
// it; nil before.
func (r *reader) atEnd(rest []byte) error {
	if r.readErr == io.EOF && len(rest) > 0 {
		return r.format.cut(rest)
	}
	return r.readErr
}

// end closes the input and settles what Next returns when the sound records
// have been delivered: err, placed at rest, which lies used bytes behind base.
func (r *reader) end(rest []byte, used int, err error) {
	if err != io.EOF {
		err = located(err, r.name, r.base+int64(used), r.format.inHeader(rest))
	}
	r.err = err
	r.carry = nil
	// All has been read that could be; a failing close tells nothing more.
	_ = r.in.close()
}

// warnAt passes on damage at an offset from base that reading survives.
func (r *reader) warnAt(at int, err error) {
	if r.warn != nil {
		r.warn(&InputError{Input: r.name, Offset: r.base + int64(at), Err: err})
	}
}

func (r *reader) tables() ([]Interface, []Section) { return r.format.tables() }

// Inputs returns the one name.
func (r *reader) Inputs() []string { return []string{r.name} }

// Offset returns the bytes read, as stored, and the size of a regular file.
func (r *reader) Offset() (done, total int64) { return r.in.offset() }

// Size is as Source says: unknown for pipes and compressed files.
func (r *reader) Size() int64 {
	if len(r.in.layers) > 0 {
		return 0
	}
	return r.in.total
}

// Close closes the file. It must not be called during Next, which returns
// os.ErrClosed afterwards unless the input had ended.
func (r *reader) Close() error {
	if r.err == nil {
		r.err = os.ErrClosed
	}
	return r.in.close()
}

// damaged returns an error that wraps ErrDamaged.
func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrDamaged, fmt.Sprintf(format, args...))
}
