// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"math/bits"
	"slices"
	"strings"

	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/internal/mem"
	"github.com/flowdedup/flowdedup/layout"
)

// RestoreConfig configures the functions that read snapshots.
type RestoreConfig struct {
	// Secret is the secret of the digests, in the snapshot and later.
	Secret engine.Secret
	// Label must equal the snapshot's label.
	Label string
	// Memory bounds the size of the filter's lines, in bytes; 0 stands for 256 MiB.
	Memory int
}

func (c RestoreConfig) memory() uint64 {
	if c.Memory == 0 {
		return mem.MaxDefault
	}
	return uint64(max(0, c.Memory))
}

// Allow returns an error, which wraps engine.ErrMemory, if the given number of lines
// takes more than Memory.
func (c RestoreConfig) Allow(lines uint64) error {
	if lines > c.memory()/layout.LineSize {
		return fmt.Errorf("%w: the snapshot holds %d lines of %d bytes, at most %d bytes are allowed", engine.ErrMemory, lines, layout.LineSize, c.memory())
	}
	return nil
}

// Reader reads the contents of a filter from a snapshot.
type Reader struct {
	from io.Reader
	seal hash.Hash
	buf  []byte
}

// Restore reads a snapshot into a filter, and no byte beyond the snapshot's end. It sets the
// fields, calls makeEmpty, which checks them and makes a filter without contents, and calls
// load, which reads the contents into the filter. Errors wrap ErrInvalid, or come from r,
// makeEmpty and load.
func Restore[F io.Closer](r io.Reader, kind Kind, c RestoreConfig, fields Fields, makeEmpty func(RestoreConfig) (F, error), load func(F, *Reader) error) (F, error) {
	var none F
	in, err := newReader(r, kind, c, fields)
	if err != nil {
		return none, err
	}
	f, err := makeEmpty(c)
	if err != nil {
		return none, err
	}
	if err = load(f, in); err == nil {
		err = in.checkSeal("lines")
	}
	if err != nil {
		f.Close()
		return none, err
	}
	return f, nil
}

// newReader reads everything before the lines, and sets the fields. Errors wrap
// ErrInvalid, or come from r.
func newReader(r io.Reader, kind Kind, c RestoreConfig, fields Fields) (*Reader, error) {
	if err := checkLabel(c.Label); err != nil {
		return nil, err
	}
	s := &Reader{r, newSeal(c.Secret), make([]byte, 8*partWords)}
	head := make([]byte, headSize)
	if err := s.read(head, "header"); err != nil {
		return nil, err
	}
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(head[8*i:]) }
	switch {
	case string(head[:8]) != magic:
		return nil, fmt.Errorf("%w: not a snapshot of a filter", ErrInvalid)
	case word(1) != version:
		return nil, fmt.Errorf("%w: version %d, this program reads version %d", ErrInvalid, word(1), version)
	case word(2) != uint64(kind):
		return nil, fmt.Errorf("%w: of a filter of kind %v, must be of kind %v", ErrInvalid, Kind(word(2)), kind)
	case !bytes.Equal(head[24:40], keyCheck(c.Secret)):
		return nil, fmt.Errorf("%w: made under another key", ErrInvalid)
	}
	numbers := fields.numbers()
	if count := word(headSize/8 - 1); count != uint64(len(numbers)) {
		return nil, fmt.Errorf("%w: %d fields, must be %d", ErrInvalid, count, len(numbers))
	}
	words := make([]uint64, len(numbers))
	if err := s.Words(len(words), "header", func(i int, word uint64) { words[i] = word }); err != nil {
		return nil, err
	}
	if err := s.checkSeal("header"); err != nil {
		return nil, err
	}
	if label := strings.TrimRight(string(head[40:40+MaxLabel]), "\x00"); label != c.Label {
		return nil, fmt.Errorf("%w: of elements labelled %q, must be %q", ErrInvalid, label, c.Label)
	}
	for i, word := range words {
		if !setNumber(numbers[i], word) {
			return nil, ErrInconsistent
		}
	}
	return s, nil
}

// read fills b. part names b in errors.
func (s *Reader) read(b []byte, part string) error {
	switch _, err := io.ReadFull(s.from, b); {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%w: it ends in its %s", ErrInvalid, part)
	case err != nil:
		return fmt.Errorf("reading the %s of a snapshot: %w", part, err)
	}
	s.seal.Write(b)
	return nil
}

// Words reads n words, and hands each to put.
func (s *Reader) Words(n int, part string, put func(i int, word uint64)) error {
	for from := 0; from < n; from += partWords {
		count := min(partWords, n-from)
		if err := s.read(s.buf[:8*count], part); err != nil {
			return err
		}
		for i := range count {
			put(from+i, binary.LittleEndian.Uint64(s.buf[8*i:]))
		}
	}
	return nil
}

// Lines reads lines, which are zero before.
func (s *Reader) Lines(lines []layout.Line) error {
	for part := range slices.Chunk(lines, partLines) {
		var used usedLines
		enter := func(i int, word uint64) {
			for ; word != 0; word &= word - 1 {
				used.add(64*i + bits.TrailingZeros64(word))
			}
		}
		if err := s.Words(len(used.bits), "lines", enter); err != nil {
			return err
		}
		if used.count > 0 && int(used.at[used.count-1]) >= len(part) {
			return fmt.Errorf("%w: more than %d lines", ErrInvalid, len(part))
		}
		put := func(i int, word uint64) { part[used.at[i/8]][i%8] = word }
		if err := s.Words(8*used.count, "lines", put); err != nil {
			return err
		}
	}
	return nil
}

// checkSeal reads a seal, and compares it with the seal of everything read.
func (s *Reader) checkSeal(part string) error {
	want := s.seal.Sum(nil)
	got := make([]byte, len(want))
	if err := s.read(got, "seal of the "+part); err != nil {
		return err
	}
	if !bytes.Equal(got, want) {
		return fmt.Errorf("%w: its %s is damaged: the seal does not fit", ErrInvalid, part)
	}
	return nil
}
