package engine

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"
	"strings"

	"github.com/minio/highwayhash"

	"github.com/flowdedup/flowdedup/layout"
)

// A snapshot is a sequence of 64-bit words, little-endian:
//
//	the bytes FLOWSNAP
//	version, 3
//	kind of the filter
//	2 words: key check value
//	8 words: label, with zeros behind
//	number of fields
//	the fields: parameters, counts, and the number of lines
//	2 words: seal of all before
//	the lines, and what else the filter remembers; of 4096 lines each a bit for each that is
//	not zero, and these
//	2 words: seal of all before
//
// Seals are HighwayHash-128 under a key derived from the secret, and the key check
// value is that of the word FLOWSNAP alone. So nothing that a snapshot says of lengths
// is believed before it is known to come from a holder of the secret.
//
// The label says what the elements are. A filter knows digests only, and would go on
// with those of other keys, or of another hash, without a word.
const (
	snapshotMagic   = "FLOWSNAP"
	snapshotVersion = 3
	// snapshotHead is the size of all before the fields.
	snapshotHead = 5*8 + MaxLabel + 8
	// snapshotPart is how many words are turned to bytes at a time.
	snapshotPart = 2048
	// snapshotLines is how many lines go by their bits together.
	snapshotLines = 4096
)

// MaxLabel is the most bytes that the label of a snapshot has.
const MaxLabel = 64

// checkLabel returns an error if a label does not fit into a snapshot.
func checkLabel(label string) error {
	if len(label) > MaxLabel || strings.ContainsRune(label, 0) {
		return fmt.Errorf("%w: label %q, must have at most %d bytes, none of them 0", ErrSnapshot, label, MaxLabel)
	}
	return nil
}

// snapshotKind says which filter a snapshot is of.
type snapshotKind uint64

const (
	snapshotStream snapshotKind = 1 + iota
	snapshotTimed
	snapshotExactV4
	snapshotLandmark
	snapshotDigestRows
	snapshotSliding
	snapshotTimers
)

// newSeal returns the hash that snapshots under a secret are sealed with.
func newSeal(s Secret) hash.Hash {
	key := s.longKey(keySnapshot)
	h, err := highwayhash.New128(key[:])
	if err != nil {
		panic("engine: " + err.Error()) // only for keys of a wrong size
	}
	return h
}

// keyCheck returns the key check value.
func keyCheck(s Secret) []byte {
	h := newSeal(s)
	h.Write([]byte(snapshotMagic))
	return h.Sum(nil)
}

// snapshotWriter writes a snapshot. After an error it writes nothing more.
type snapshotWriter struct {
	to      io.Writer
	copy    *SnapshotCopy // in place of to, if that is one
	seal    hash.Hash
	buf     []byte
	written int64
	err     error
}

// newSnapshotWriter writes all that comes before the lines.
func newSnapshotWriter(w io.Writer, kind snapshotKind, secret Secret, label string, fields []uint64) *snapshotWriter {
	s := &snapshotWriter{to: w, seal: newSeal(secret), buf: make([]byte, 0, 8*snapshotPart), err: checkLabel(label)}
	if s.copy, _ = w.(*SnapshotCopy); s.copy != nil {
		s.copy.add(func(out *snapshotWriter) { out.seal = newSeal(secret) })
	}
	head := binary.LittleEndian.AppendUint64([]byte(snapshotMagic), snapshotVersion)
	head = binary.LittleEndian.AppendUint64(head, uint64(kind))
	head = append(head, keyCheck(secret)...)
	head = append(append(head, label...), make([]byte, max(0, MaxLabel-len(label)))...)
	s.write(binary.LittleEndian.AppendUint64(head, uint64(len(fields))))
	s.words(len(fields), func(i int) uint64 { return fields[i] })
	s.sealed()
	return s
}

func (s *snapshotWriter) write(b []byte) {
	if s.err != nil {
		return
	}
	if s.copy != nil {
		b = bytes.Clone(b)
		s.copy.add(func(out *snapshotWriter) { out.write(b) })
		return
	}
	s.seal.Write(b)
	n := 0
	n, s.err = s.to.Write(b)
	s.written += int64(n)
}

// sealed writes the seal of all before.
func (s *snapshotWriter) sealed() {
	if s.copy != nil {
		s.copy.add((*snapshotWriter).sealed)
		return
	}
	s.write(s.seal.Sum(nil))
}

// words writes words 0 to n-1 of at.
func (s *snapshotWriter) words(n int, at func(i int) uint64) {
	for from := 0; from < n && s.err == nil; from += snapshotPart {
		buf := s.buf[:0]
		for i := from; i < min(from+snapshotPart, n); i++ {
			buf = binary.LittleEndian.AppendUint64(buf, at(i))
		}
		s.write(buf)
	}
}

func (s *snapshotWriter) lines(lines []layout.Line) {
	if s.copy != nil {
		s.copy.lines(&lineCopy{lines: lines})
		return
	}
	for part := range slices.Chunk(lines, snapshotLines) {
		var used usedLines
		for i := range part {
			if part[i] != (layout.Line{}) {
				used.add(i)
			}
		}
		s.words(len(used.bits), func(i int) uint64 { return used.bits[i] })
		s.words(8*used.count, func(i int) uint64 { return part[used.at[i/8]][i%8] })
	}
}

// usedLines are those of a part of the lines that are not zero.
type usedLines struct {
	bits  [snapshotLines / 64]uint64
	at    [snapshotLines]uint16
	count int
}

func (u *usedLines) add(line int) {
	u.bits[line/64] |= 1 << (line % 64)
	u.at[u.count] = uint16(line)
	u.count++
}

// shared writes lines from to to-1 of a filter that keeps those it is about to change for the copy
// that is returned, nil for none: so they can be copied while the filter goes on.
func (s *snapshotWriter) shared(a *layout.Arena, from, to int) *lineCopy {
	if s.copy == nil {
		s.lines(a.Lines()[from:to])
		return nil
	}
	c := &lineCopy{lines: a.Lines()[from:to], arena: a, first: from}
	s.copy.lines(c)
	return c
}

// end writes the last seal, and returns the first error.
func (s *snapshotWriter) end() error {
	s.sealed()
	return s.err
}

// ErrSnapshot is what errors about the content of a snapshot, and its label, wrap.
var ErrSnapshot = errors.New("bad snapshot")
