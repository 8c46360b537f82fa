// SPDX-License-Identifier: Apache-2.0

package hubclient

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"slices"
)

// version is the version of the messages. In version 1 digests had 64 bits, and times two
// bytes each. In version 2 packets had another digest (digest.AES).
const version = 3

// MaxDigests bounds the digests of a request. It keeps messages far below the megabyte
// that servers accept.
const MaxDigests = 16384

// DeltaUnit is the unit of Request.Deltas, in microseconds.
const DeltaUnit = 10

// MaxTime is the greatest Request.Time that slices take, in microseconds: about the year
// 2255. It keeps sums of a time and a difference of clocks far below the int64 limit.
const MaxTime = 1 << 53

// DigestBits is the number of a digest's lower bits that go to the hub. The upper bits
// choose the slice. To a slice, two packets whose digests agree in the lower bits are equal.
const DigestBits = 56

// digestBytes is the length of a digest in a message, and digestMask has its bits.
const (
	digestBytes = DigestBits / 8
	digestMask  = 1<<DigestBits - 1
)

// requestHeader and replyHeader are the lengths of headers, in bytes.
const (
	requestHeader = 40
	replyHeader   = 32
)

// Errors of decoding.
var (
	// ErrMessage is wrapped by all errors about messages.
	ErrMessage = errors.New("bad message")
	// ErrVersion is about messages of another version.
	ErrVersion = fmt.Errorf("%w: another version", ErrMessage)
	// Messages may also be longer or shorter than their headers say, have a header's field
	// out of range, or a body that differs from what was sent.
	errLength   = fmt.Errorf("%w: wrong length", ErrMessage)
	errField    = fmt.Errorf("%w: field out of range", ErrMessage)
	errChecksum = fmt.Errorf("%w: wrong checksum", ErrMessage)
)

// Op is the operation of a request.
type Op uint8

// The operations. Their numbers are part of the messages.
const (
	TestAndSet Op = 1 + iota // remember digests, and report which another site has sent
	Test                     // only report
	Set                      // only remember
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

// timesMask has the flags for the bytes of a time: 0, 1, 2 or 4, as the numbers 0 to 3.
// remainingFlag is the flag of Request.Remaining.
const (
	timesMask     = 3
	remainingFlag = 4
)

// timeBytes are the lengths that the flags stand for.
var timeBytes = [timesMask + 1]int{0, 1, 2, 4}

// Request is a batch of digests for a slice.
type Request struct {
	Op    Op
	Times bool // Deltas are present
	// Remaining asks for Reply.Remaining.
	Remaining bool
	K         uint8  // number of hash functions, where the slice needs it; else 0
	Epoch     uint32 // version of the layout of slices
	// Seq numbers the requests of a site to a slice. A repeated request has the number of
	// the first: a slice answers it as it did the first, and counts nothing twice.
	Seq uint64
	// Time is the packet time that Deltas count from, in microseconds of the Unix epoch, by
	// the site's clock, at most MaxTime.
	Time uint64
	// Deadline is how many milliseconds after Time, by the site's clock, an answer is useful.
	// It is 0 for answers that are always useful, as for files.
	Deadline uint32
	Digests  []uint64 // DigestBits bits of each count
	Deltas   []int32  // times of the digests, in DeltaUnit after Time
}

// castagnoli is the polynomial that CPUs have an instruction for.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Append appends the message to dst. The request must have at most MaxDigests digests, and
// with Times as many Deltas.
//
// After the header come the digests, of 7 bytes each, and then the steps from one time to
// the next, from Time at first: signed numbers, all of the length that the longest needs.
func (r *Request) Append(dst []byte) []byte {
	start, n := len(dst), len(r.Digests)
	flags := 0
	if r.Times {
		flags = stepFlags(r.Deltas[:n])
	}
	width := timeBytes[flags]
	if r.Remaining {
		flags |= remainingFlag
	}
	dst = slices.Grow(dst, requestHeader+n*(digestBytes+width)+1) // one more, see below
	le := binary.LittleEndian
	dst = append(dst, 'F', 'D', version, byte(r.Op))
	dst = le.AppendUint16(dst, uint16(flags))
	dst = append(dst, r.K, 0)
	dst = le.AppendUint32(dst, r.Epoch)
	dst = le.AppendUint32(dst, uint32(n))
	dst = le.AppendUint64(dst, r.Seq)
	dst = le.AppendUint64(dst, r.Time)
	dst = le.AppendUint32(dst, r.Deadline)
	dst = le.AppendUint32(dst, 0)
	body := dst[len(dst):cap(dst)]
	for i, d := range r.Digests {
		le.PutUint64(body[digestBytes*i:], d) // the next bytes replace the highest byte
	}
	putSteps(body[digestBytes*n:], r.Deltas, width)
	dst = dst[:len(dst)+n*(digestBytes+width)]
	le.PutUint32(dst[start+36:], crc32.Checksum(dst[start+requestHeader:], castagnoli))
	return dst
}

// stepFlags returns the flags for the length that steps between times need. Steps are
// differences of 32 bits, which wrap.
func stepFlags(deltas []int32) int {
	last, used := int32(0), int32(0)
	for _, d := range deltas {
		step := d - last
		used |= step ^ step>>31 // all bits except the sign
		last = d
	}
	switch {
	case used <= math.MaxInt8:
		return 1
	case used <= math.MaxInt16:
		return 2
	}
	return 3
}

// putSteps writes the steps between times.
func putSteps(body []byte, deltas []int32, width int) {
	last := int32(0)
	switch width {
	case 1:
		body = body[:len(deltas)]
		for i, d := range deltas {
			body[i] = byte(d - last)
			last = d
		}
	case 2:
		for i, d := range deltas {
			binary.LittleEndian.PutUint16(body[2*i:], uint16(d-last))
			last = d
		}
	case 4:
		for i, d := range deltas {
			binary.LittleEndian.PutUint32(body[4*i:], uint32(d-last))
			last = d
		}
	}
}

// Decode reads a message. It reuses the memory of Digests and Deltas, and allocates only
// where they are too small. Errors wrap ErrMessage, and leave r undefined.
func (r *Request) Decode(msg []byte) error {
	le := binary.LittleEndian
	if len(msg) < requestHeader {
		return errLength
	}
	if err := checkMagic(msg); err != nil {
		return err
	}
	flags, n := le.Uint16(msg[4:]), int64(le.Uint32(msg[12:]))
	*r = Request{
		Op: Op(msg[3]), Times: flags&timesMask != 0, Remaining: flags&remainingFlag != 0, K: msg[6], Epoch: le.Uint32(msg[8:]),
		Seq: le.Uint64(msg[16:]), Time: le.Uint64(msg[24:]), Deadline: le.Uint32(msg[32:]),
		Digests: r.Digests[:0], Deltas: r.Deltas[:0],
	}
	if r.Op == 0 || r.Op > Ping || flags&^(timesMask|remainingFlag) != 0 || msg[7] != 0 || n > MaxDigests {
		return errField
	}
	width := timeBytes[flags&timesMask]
	body := msg[requestHeader:]
	if int64(len(body)) != n*int64(digestBytes+width) {
		return errLength
	}
	if crc32.Checksum(body, castagnoli) != le.Uint32(msg[36:]) {
		return errChecksum
	}
	r.Digests = resize(r.Digests, int(n))
	before := msg[requestHeader-1:] // a byte before the first digest
	for i := range r.Digests {
		r.Digests[i] = le.Uint64(before[digestBytes*i:]) >> 8
	}
	if r.Times {
		r.Deltas = resize(r.Deltas, int(n))
		readSteps(r.Deltas, body[digestBytes*int(n):], width)
	}
	return nil
}

// readSteps reads the output of putSteps.
func readSteps(deltas []int32, body []byte, width int) {
	last := int32(0)
	switch width {
	case 1:
		body = body[:len(deltas)]
		for i := range deltas {
			last += int32(int8(body[i]))
			deltas[i] = last
		}
	case 2:
		for i := range deltas {
			last += int32(int16(binary.LittleEndian.Uint16(body[2*i:])))
			deltas[i] = last
		}
	case 4:
		for i := range deltas {
			last += int32(binary.LittleEndian.Uint32(body[4*i:]))
			deltas[i] = last
		}
	}
}

// checkMagic checks the common start of both headers.
func checkMagic(msg []byte) error {
	switch {
	case msg[0] != 'F' || msg[1] != 'D':
		return ErrMessage
	case msg[2] != version:
		return ErrVersion
	}
	return nil
}

// sliceOf returns the slice, out of the given number, that a digest belongs to: by its
// upper half, which a slice's filters have to take into account.
func sliceOf(digest uint64, slices int) int {
	return int((digest >> 32) * uint64(slices) >> 32)
}

// resize returns s with n elements of any value.
func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, n+n/8)
	}
	return s[:n]
}
