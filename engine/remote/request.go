package remote

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// Version is the version of the messages.
const Version = 1

// MaxDigests is how many digests a request has at most. It keeps messages far below the
// megabyte that servers take.
const MaxDigests = 16384

// DeltaUnit is the unit of Request.Deltas, in microseconds.
const DeltaUnit = 10

// maxSpan is how many microseconds a batch with times spans at most.
const maxSpan = 0xffff * DeltaUnit

// requestHeader and replyHeader are the lengths of headers, in bytes.
const (
	requestHeader = 40
	replyHeader   = 32
)

// Errors of decoding. What is wrong with a message is told by errors.Is.
var (
	// ErrMessage is wrapped by all errors about messages.
	ErrMessage = errors.New("bad message")
	// ErrVersion is about messages of another version.
	ErrVersion = fmt.Errorf("%w: another version", ErrMessage)
	// ErrLength is about messages that are longer or shorter than their headers say.
	ErrLength = fmt.Errorf("%w: wrong length", ErrMessage)
	// ErrField is about fields of a header that are out of range.
	ErrField = fmt.Errorf("%w: field out of range", ErrMessage)
	// ErrChecksum is about a body that is not the one that was sent.
	ErrChecksum = fmt.Errorf("%w: wrong checksum", ErrMessage)
)

// Op is what a request asks for.
type Op uint8

// The operations. Their numbers are those of the messages.
const (
	TestAndSet Op = 1 + iota // remember digests, and say which another site has sent
	Test                     // say it alone
	Set                      // remember alone
	Chain                    // test and set, passed on from slice to slice
	Ping                     // answer
)

// opNames are the words of subjects.
var opNames = [...]string{TestAndSet: "tas", Test: "test", Set: "set", Chain: "chain", Ping: "ping"}

// String returns the word of the operation in subjects.
func (o Op) String() string {
	if o == 0 || int(o) >= len(opNames) {
		return "unknown"
	}
	return opNames[o]
}

// hasTimes is the flag of requests whose body has times.
const hasTimes = 1

// Request is a batch of digests for a slice.
type Request struct {
	Op    Op
	Times bool   // Deltas belong to it
	K     uint8  // how many hash functions, where the slice has to know; else 0
	Epoch uint32 // version of the layout of slices
	// Seq numbers the requests of a site to a slice. A repeated request has the number of
	// the first: a slice answers it as it did the first, and counts nothing twice.
	Seq uint64
	// Time is the packet time that Deltas count from, in microseconds of the Unix epoch, by
	// the site's clock.
	Time uint64
	// Deadline is how many milliseconds after Time, by the site's clock, an answer is still
	// of use. It is 0 for answers that are always of use, as those for files.
	Deadline uint32
	Digests  []uint64
	Deltas   []uint16 // of the digests, in DeltaUnit after Time
}

// castagnoli is the polynomial that CPUs have an instruction for.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Append appends the message to dst. The request must have at most MaxDigests digests, and
// with Times as many Deltas.
func (r *Request) Append(dst []byte) []byte {
	start := len(dst)
	flags := uint16(0)
	if r.Times {
		flags |= hasTimes
	}
	le := binary.LittleEndian
	dst = append(dst, 'F', 'D', Version, byte(r.Op))
	dst = le.AppendUint16(dst, flags)
	dst = append(dst, r.K, 0)
	dst = le.AppendUint32(dst, r.Epoch)
	dst = le.AppendUint32(dst, uint32(len(r.Digests)))
	dst = le.AppendUint64(dst, r.Seq)
	dst = le.AppendUint64(dst, r.Time)
	dst = le.AppendUint32(dst, r.Deadline)
	dst = le.AppendUint32(dst, 0)
	for _, d := range r.Digests {
		dst = le.AppendUint64(dst, d)
	}
	if r.Times {
		for _, d := range r.Deltas[:len(r.Digests)] {
			dst = le.AppendUint16(dst, d)
		}
	}
	le.PutUint32(dst[start+36:], crc32.Checksum(dst[start+requestHeader:], castagnoli))
	return dst
}

// Decode reads a message. It takes the memory of Digests and Deltas again, and allocates
// only where that is too small. Errors wrap ErrMessage, and leave r undefined.
func (r *Request) Decode(msg []byte) error {
	le := binary.LittleEndian
	if len(msg) < requestHeader {
		return ErrLength
	}
	if err := checkMagic(msg); err != nil {
		return err
	}
	flags, n := le.Uint16(msg[4:]), int64(le.Uint32(msg[12:]))
	*r = Request{
		Op: Op(msg[3]), Times: flags&hasTimes != 0, K: msg[6], Epoch: le.Uint32(msg[8:]),
		Seq: le.Uint64(msg[16:]), Time: le.Uint64(msg[24:]), Deadline: le.Uint32(msg[32:]),
		Digests: r.Digests[:0], Deltas: r.Deltas[:0],
	}
	if r.Op == 0 || r.Op > Ping || flags&^hasTimes != 0 || msg[7] != 0 || n > MaxDigests {
		return ErrField
	}
	size := int64(8)
	if r.Times {
		size += 2
	}
	body := msg[requestHeader:]
	if int64(len(body)) != n*size {
		return ErrLength
	}
	if crc32.Checksum(body, castagnoli) != le.Uint32(msg[36:]) {
		return ErrChecksum
	}
	r.Digests = resize(r.Digests, int(n))
	for i := range r.Digests {
		r.Digests[i] = le.Uint64(body[8*i:])
	}
	if r.Times {
		r.Deltas = resize(r.Deltas, int(n))
		for i := range r.Deltas {
			r.Deltas[i] = le.Uint16(body[8*int(n)+2*i:])
		}
	}
	return nil
}

// checkMagic checks what both headers begin with.
func checkMagic(msg []byte) error {
	switch {
	case msg[0] != 'F' || msg[1] != 'D':
		return ErrMessage
	case msg[2] != Version:
		return ErrVersion
	}
	return nil
}

// sliceOf returns the slice, of so many, that a digest belongs to: by its upper half, which
// filters of a slice have to know of.
func sliceOf(digest uint64, slices int) int {
	return int((digest >> 32) * uint64(slices) >> 32)
}

// resize returns s with n elements, whatever they are.
func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, n+n/8)
	}
	return s[:n]
}
