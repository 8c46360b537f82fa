// SPDX-License-Identifier: Apache-2.0

// Package snapshot writes and reads the contents of filters. A snapshot has a list of the
// filter's numbers (Fields) and its lines, and is sealed under the secret that the
// digests were made with. Filters have a method Snapshot that takes an io.Writer, and a
// function that restores them:
//
//	err := filter.Snapshot(file, secret, "flow, aes")
//	again, err := window.RestoreTimed(file, snapshot.RestoreConfig{Secret: secret, Label: "flow, aes"})
//
//	question                             file
//	the format; what a filter writes     snapshot.go
//	what it reads, and refuses           read.go
//	a copy of a filter that goes on      copy.go
package snapshot

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/layout"
	"github.com/minio/highwayhash"
)

// A snapshot is a sequence of 64-bit words, little-endian:
//
//	the bytes FLOWSNAP
//	version, 5
//	kind of the filter
//	2 words: key check value
//	8 words: label, with zeros behind
//	number of fields
//	the fields: parameters, counts, and the number of lines
//	2 words: seal of everything before
//	the lines, 4096 at a time: a bit for each that is not zero, and these
//	the filter's remaining contents
//	2 words: seal of everything before
//
// A seal is a HighwayHash-128 under a key derived from the secret. The key check value is
// the seal of only the word FLOWSNAP. So a reader knows that a snapshot comes from a
// holder of the secret before it relies on any length in it.
//
// The label names the elements. A filter knows digests only: under another key or hash, a
// restored filter would silently never match. Version 3 is of another digest of packets
// (digest.AES), and version 5 of packet filters with spare lines.
const (
	magic   = "FLOWSNAP"
	version = 5
	// headSize is the size of everything before the fields.
	headSize = 5*8 + MaxLabel + 8
	// partWords is how many words are encoded at a time.
	partWords = 2048
	// partLines is the number of lines that share one bitmap, which marks the lines that are
	// not zero.
	partLines = 4096
)

// MaxLabel is the length of the longest label, in bytes.
const MaxLabel = 64

// checkLabel returns an error if a label does not fit into a snapshot.
func checkLabel(label string) error {
	if len(label) > MaxLabel || strings.ContainsRune(label, 0) {
		return fmt.Errorf("%w: label %q, must have at most %d bytes, none of them 0", ErrInvalid, label, MaxLabel)
	}
	return nil
}

// Kind says which filter a snapshot is of.
type Kind uint64

const (
	Stream Kind = 1 + iota
	Timed
	IPv4Rows
	_
	DigestRows
	SlidingRows
	Timers
	Coarse
	_
	Sketch
	Owners
	Pairs
	Fine
)

// kindNames are the names of kinds in errors.
var kindNames = map[Kind]string{
	Stream: "stream", Timed: "timed", IPv4Rows: "exact-rows", DigestRows: "digest-rows", SlidingRows: "sliding-rows",
	Timers: "timers", Coarse: "coarse", Sketch: "sketch", Owners: "owners", Pairs: "pairs", Fine: "fine",
}

// String returns the name of the filter's method, or the number of an unknown kind.
func (k Kind) String() string {
	if name, known := kindNames[k]; known {
		return name
	}
	return strconv.FormatUint(uint64(k), 10)
}

// newSeal returns the hash that snapshots under a secret are sealed with.
func newSeal(s engine.Secret) hash.Hash {
	key := s.SnapshotKey()
	h, err := highwayhash.New128(key[:])
	if err != nil {
		panic("snapshot: " + err.Error()) // only for keys of a wrong size
	}
	return h
}

// keyCheck returns the key check value.
func keyCheck(s engine.Secret) []byte {
	h := newSeal(s)
	h.Write([]byte(magic))
	return h.Sum(nil)
}

// Writer writes a snapshot, or has a Copy write it later. After an error it writes
// nothing more.
type Writer struct {
	to      io.Writer
	copy    *Copy // nil if to is no Copy
	seal    hash.Hash
	buf     []byte
	written int64
	err     error
}

// NewWriter writes everything before the lines. Errors come from End.
func NewWriter(w io.Writer, kind Kind, secret engine.Secret, label string, fields Fields) *Writer {
	s := &Writer{to: w, seal: newSeal(secret), buf: make([]byte, 0, 8*partWords), err: checkLabel(label)}
	if s.copy, _ = w.(*Copy); s.copy != nil {
		s.copy.add(func(out *Writer) { out.seal = newSeal(secret) })
	}
	head := binary.LittleEndian.AppendUint64([]byte(magic), version)
	head = binary.LittleEndian.AppendUint64(head, uint64(kind))
	head = append(head, keyCheck(secret)...)
	head = append(append(head, label...), make([]byte, max(0, MaxLabel-len(label)))...)
	numbers := fields.numbers()
	s.write(binary.LittleEndian.AppendUint64(head, uint64(len(numbers))))
	s.Words(len(numbers), func(i int) uint64 { return numberWord(numbers[i]) })
	s.writeSeal()
	return s
}

func (s *Writer) write(b []byte) {
	if s.err != nil {
		return
	}
	if s.copy != nil {
		b = bytes.Clone(b)
		s.copy.add(func(out *Writer) { out.write(b) })
		return
	}
	s.seal.Write(b)
	n := 0
	n, s.err = s.to.Write(b)
	s.written += int64(n)
}

// writeSeal writes the seal of everything before.
func (s *Writer) writeSeal() {
	if s.copy != nil {
		s.copy.add((*Writer).writeSeal)
		return
	}
	s.write(s.seal.Sum(nil))
}

// Words writes words 0 to n-1 of at.
func (s *Writer) Words(n int, at func(i int) uint64) {
	for from := 0; from < n && s.err == nil; from += partWords {
		buf := s.buf[:0]
		for i := from; i < min(from+partWords, n); i++ {
			buf = binary.LittleEndian.AppendUint64(buf, at(i))
		}
		s.write(buf)
	}
}

// Lines writes lines from to to-1 of an arena. A Copy takes them later, while the filter
// goes on: then the filter calls the LineCopy before it changes a line. Otherwise the
// LineCopy is nil.
func (s *Writer) Lines(a *layout.Arena, from, to int) *LineCopy {
	lines := a.Lines()[from:to]
	if s.copy == nil {
		s.writeLines(lines)
		return nil
	}
	c := &LineCopy{lines: lines, arena: a, first: from}
	s.copy.addLines(c)
	return c
}

func (s *Writer) writeLines(lines []layout.Line) {
	for part := range slices.Chunk(lines, partLines) {
		var used usedLines
		for i := range part {
			if part[i] != (layout.Line{}) {
				used.add(i)
			}
		}
		s.Words(len(used.bits), func(i int) uint64 { return used.bits[i] })
		s.Words(8*used.count, func(i int) uint64 { return part[used.at[i/8]][i%8] })
	}
}

// usedLines are the nonzero lines of a part.
type usedLines struct {
	bits  [partLines / 64]uint64
	at    [partLines]uint16
	count int
}

func (u *usedLines) add(line int) {
	u.bits[line/64] |= 1 << (line % 64)
	u.at[u.count] = uint16(line)
	u.count++
}

// End writes the last seal, and returns the first error.
func (s *Writer) End() error {
	s.writeSeal()
	return s.err
}

// ErrInvalid is wrapped by errors about the content or the label of a snapshot.
var ErrInvalid = errors.New("bad snapshot")

// Fields lists the numbers that a filter saves in addition to its lines, in the order of
// the file: pointers to integers and flags, and slices of integers. Each number takes a
// word. One list serves for writing and for reading, so the two cannot differ.
type Fields []any

// ErrInconsistent is wrapped by errors about numbers that no filter has at the same time.
// It wraps ErrInvalid.
var ErrInconsistent = fmt.Errorf("%w: parameters that do not belong together", ErrInvalid)

// numbers returns the numbers in order.
func (f Fields) numbers() (all []reflect.Value) {
	for _, field := range f {
		v := reflect.Indirect(reflect.ValueOf(field))
		if v.Kind() != reflect.Slice {
			all = append(all, v)
			continue
		}
		for i := range v.Len() {
			all = append(all, v.Index(i))
		}
	}
	return all
}

func numberWord(v reflect.Value) uint64 {
	switch {
	case v.CanInt():
		return uint64(v.Int())
	case v.CanUint():
		return v.Uint()
	case v.Bool():
		return 1
	}
	return 0
}

// setNumber sets v, and reports whether v can hold the saved number.
func setNumber(v reflect.Value, word uint64) bool {
	switch {
	case v.CanInt():
		v.SetInt(int64(word))
		return !v.OverflowInt(int64(word))
	case v.CanUint():
		v.SetUint(word)
		return !v.OverflowUint(word)
	default:
		v.SetBool(word != 0)
	}
	return true
}
