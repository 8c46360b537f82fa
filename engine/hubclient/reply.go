// SPDX-License-Identifier: Apache-2.0

package hubclient

import (
	"encoding/binary"
	"errors"
	"math/bits"
)

// Status says whether a slice took a request.
type Status uint8

// The statuses. Their numbers are part of the messages.
const (
	OK         Status = iota
	WrongEpoch        // the layout of slices has changed
	NotOwner          // another process has the slice
	Stale             // the deadline had passed, or the sequence number was forgotten
	Overloaded        // the slice is overloaded
	Bad               // the request could not be read
	Ring              // the hub has seen the question for the way up before
)

// statusNames are the words of errors.
var statusNames = [...]string{"ok", "wrong epoch", "not the owner", "too late", "overloaded", "bad request", "ring"}

// String returns the status in words.
func (s Status) String() string {
	if int(s) >= len(statusNames) {
		return "unknown status"
	}
	return statusNames[s]
}

// ErrRefused is wrapped by the error of a hub that does not serve the token.
var ErrRefused = errors.New("refused by the hub")

// Reply is the answer to a Request.
type Reply struct {
	Status Status
	N      uint32 // number of digests
	Seq    uint64 // sequence number of the request
	Epoch  uint32 // epoch of the slice
	// Fencing numbers the owners of a slice: a later owner has a higher number. Answers
	// with a lower number than an earlier answer are not valid.
	Fencing uint64
	// Unchecked is the number of digests that a hub above has not decided in time: the setting
	// of the hub determines their bits of Copies. It is the number of all digests if the slice
	// has lost its memory of earlier digests: their bits are 0.
	Unchecked uint32
	// Copies has a bit for each digest, least significant bit first. A bit is 1 if
	// another site has sent the digest before. It has 1 bits only with OK.
	Copies []byte
	// Remaining, if the request asks for it and the slice knows it, is how long each copy stays
	// a copy, from its own time: in units of the slice, and 0 if that is unknown. It has an entry
	// for each digest; only the entries of copies are sent.
	Remaining []uint16
}

// Append appends the message to dst. Copies must have (N+7)/8 bytes with OK; otherwise it
// is ignored, and none are sent.
func (r *Reply) Append(dst []byte) []byte {
	le := binary.LittleEndian
	dst = append(dst, 'F', 'D', version, byte(r.Status))
	dst = le.AppendUint32(dst, r.N)
	dst = le.AppendUint64(dst, r.Seq)
	dst = le.AppendUint32(dst, r.Epoch)
	dst = le.AppendUint64(dst, r.Fencing)
	dst = le.AppendUint32(dst, r.Unchecked)
	if r.Status == OK {
		dst = append(dst, r.Copies[:(r.N+7)/8]...)
		for i, left := range r.Remaining {
			if r.Copies[i/8]>>(i%8)&1 != 0 {
				dst = le.AppendUint16(dst, left)
			}
		}
	}
	return dst
}

// Decode reads a message. Copies is a part of msg. Errors wrap ErrMessage, and leave r
// undefined.
func (r *Reply) Decode(msg []byte) error {
	le := binary.LittleEndian
	if len(msg) < replyHeader {
		return errLength
	}
	if err := checkMagic(msg); err != nil {
		return err
	}
	*r = Reply{
		Status: Status(msg[3]), N: le.Uint32(msg[4:]), Seq: le.Uint64(msg[8:]), Epoch: le.Uint32(msg[16:]),
		Fencing: le.Uint64(msg[20:]), Unchecked: le.Uint32(msg[28:]), Copies: msg[replyHeader:],
	}
	if r.Status > Ring || r.N > MaxDigests || r.Unchecked > r.N {
		return errField
	}
	want := 0
	if r.Status == OK {
		want = int(r.N+7) / 8
	}
	rest := r.Copies[min(want, len(r.Copies)):]
	if r.Copies = r.Copies[:len(r.Copies)-len(rest)]; len(r.Copies) != want {
		return errLength
	}
	if tail := r.N % 8; want > 0 && tail > 0 && r.Copies[want-1]>>tail != 0 {
		return errField
	}
	return r.decodeRemaining(rest)
}

// decodeRemaining reads the entries of copies, if there are any.
func (r *Reply) decodeRemaining(rest []byte) error {
	if len(rest) == 0 {
		return nil
	}
	copies := 0
	for _, b := range r.Copies {
		copies += bits.OnesCount8(b)
	}
	if len(rest) != 2*copies {
		return errLength
	}
	r.Remaining = make([]uint16, r.N)
	for i := range r.Remaining {
		if r.Copies[i/8]>>(i%8)&1 != 0 {
			r.Remaining[i], rest = binary.LittleEndian.Uint16(rest), rest[2:]
		}
	}
	return nil
}
