package engine

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"math"
	"math/bits"
	"slices"
	"strings"

	"github.com/flowdedup/flowdedup/layout"
)

// RestoreConfig says what the functions that read snapshots accept.
type RestoreConfig struct {
	// Secret is what the snapshot was made under: that of the elements in it, and
	// of those to come.
	Secret Secret
	// Label is that which the snapshot must have.
	Label string
	// Memory is what the filter's lines may take at most, in bytes; 0 stands for
	// 256 MiB.
	Memory int
}

func (c RestoreConfig) memory() uint64 {
	if c.Memory == 0 {
		return maxDefaultMemory
	}
	return uint64(max(0, c.Memory))
}

// allow returns an error if so many lines take more than is allowed.
func (c RestoreConfig) allow(lines uint64) error {
	if lines > c.memory()/layout.LineSize {
		return fmt.Errorf("%w: the snapshot holds %d lines of %d bytes, at most %d bytes are allowed", ErrMemory, lines, layout.LineSize, c.memory())
	}
	return nil
}

// snapshotReader reads a snapshot. It reads no byte beyond its end.
type snapshotReader struct {
	from io.Reader
	seal hash.Hash
	buf  []byte
}

// newSnapshotReader reads all that comes before the lines. The fields must be from
// least to most.
func newSnapshotReader(r io.Reader, kind snapshotKind, c RestoreConfig, least, most int) (*snapshotReader, []uint64, error) {
	if err := checkLabel(c.Label); err != nil {
		return nil, nil, err
	}
	s := &snapshotReader{r, newSeal(c.Secret), make([]byte, 8*snapshotPart)}
	head := make([]byte, snapshotHead)
	if err := s.read(head, "header"); err != nil {
		return nil, nil, err
	}
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(head[8*i:]) }
	switch {
	case string(head[:8]) != snapshotMagic:
		return nil, nil, fmt.Errorf("%w: not a snapshot of a filter", ErrSnapshot)
	case word(1) != snapshotVersion:
		return nil, nil, fmt.Errorf("%w: version %d, this program reads version %d", ErrSnapshot, word(1), snapshotVersion)
	case word(2) != uint64(kind):
		return nil, nil, fmt.Errorf("%w: of a filter of kind %d, must be of kind %d", ErrSnapshot, word(2), kind)
	case !bytes.Equal(head[24:40], keyCheck(c.Secret)):
		return nil, nil, fmt.Errorf("%w: made under another key", ErrSnapshot)
	}
	count := word(snapshotHead/8 - 1)
	if count < uint64(least) || count > uint64(most) {
		return nil, nil, fmt.Errorf("%w: %d fields, must be from %d to %d", ErrSnapshot, count, least, most)
	}
	fields := make([]uint64, count)
	if err := s.words(len(fields), "header", func(i int, word uint64) { fields[i] = word }); err != nil {
		return nil, nil, err
	}
	if err := s.checkSeal("header"); err != nil {
		return nil, nil, err
	}
	if label := strings.TrimRight(string(head[40:40+MaxLabel]), "\x00"); label != c.Label {
		return nil, nil, fmt.Errorf("%w: of elements labelled %q, must be %q", ErrSnapshot, label, c.Label)
	}
	return s, fields, nil
}

// read fills b. part names what it reads, for errors.
func (s *snapshotReader) read(b []byte, part string) error {
	switch _, err := io.ReadFull(s.from, b); {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%w: it ends in its %s", ErrSnapshot, part)
	case err != nil:
		return fmt.Errorf("reading the %s of a snapshot: %w", part, err)
	}
	s.seal.Write(b)
	return nil
}

// words reads n words, and hands each to put.
func (s *snapshotReader) words(n int, part string, put func(i int, word uint64)) error {
	for from := 0; from < n; from += snapshotPart {
		count := min(snapshotPart, n-from)
		if err := s.read(s.buf[:8*count], part); err != nil {
			return err
		}
		for i := range count {
			put(from+i, binary.LittleEndian.Uint64(s.buf[8*i:]))
		}
	}
	return nil
}

// lines reads lines, which are zero before.
func (s *snapshotReader) lines(lines []layout.Line) error {
	for part := range slices.Chunk(lines, snapshotLines) {
		var used usedLines
		enter := func(i int, word uint64) {
			for ; word != 0; word &= word - 1 {
				used.add(64*i + bits.TrailingZeros64(word))
			}
		}
		if err := s.words(len(used.bits), "lines", enter); err != nil {
			return err
		}
		if used.count > 0 && int(used.at[used.count-1]) >= len(part) {
			return fmt.Errorf("%w: more than %d lines", ErrSnapshot, len(part))
		}
		put := func(i int, word uint64) { part[used.at[i/8]][i%8] = word }
		if err := s.words(8*used.count, "lines", put); err != nil {
			return err
		}
	}
	return nil
}

// checkSeal reads a seal, and compares it with that of all that was read.
func (s *snapshotReader) checkSeal(part string) error {
	want := s.seal.Sum(nil)
	got := make([]byte, len(want))
	if err := s.read(got, "seal of the "+part); err != nil {
		return err
	}
	if !bytes.Equal(got, want) {
		return fmt.Errorf("%w: its %s is damaged: the seal does not fit", ErrSnapshot, part)
	}
	return nil
}

// snapshotFields hands out fields in their order.
type snapshotFields struct {
	rest []uint64
}

func (f *snapshotFields) next() uint64 {
	word := f.rest[0]
	f.rest = f.rest[1:]
	return word
}

// number returns a field that counts what an array has room for, or more than any has.
func (f *snapshotFields) number() int { return int(min(f.next(), math.MaxInt32)) }

func (f *snapshotFields) flag() bool { return f.next() != 0 }

// flagWord is what a flag is written as.
func flagWord(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}
