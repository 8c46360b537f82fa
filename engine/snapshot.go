package engine

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/minio/highwayhash"

	"github.com/flowdedup/flowdedup/layout"
)

// A snapshot is a sequence of 64-bit words, little-endian:
//
//	the bytes FLOWSNAP
//	version, 1
//	kind of the filter
//	2 words: key check value
//	number of fields
//	the fields: parameters, counts, and the number of lines
//	2 words: seal of all before
//	the lines
//	2 words: seal of all before
//
// Seals are HighwayHash-128 under a key derived from the secret, and the key check
// value is that of the word FLOWSNAP alone. So nothing that a snapshot says of lengths
// is believed before it is known to come from a holder of the secret.
const (
	snapshotMagic   = "FLOWSNAP"
	snapshotVersion = 1
	// snapshotPart is how many lines are turned to bytes at a time.
	snapshotPart = 256
)

// snapshotKind says which filter a snapshot is of.
type snapshotKind uint64

const (
	snapshotStream snapshotKind = 1
)

// ErrSnapshot is what errors about the content of a snapshot wrap.
var ErrSnapshot = errors.New("bad snapshot")

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

// writeSnapshot writes a snapshot.
func writeSnapshot(w io.Writer, kind snapshotKind, secret Secret, fields []uint64, lines []layout.Line) error {
	seal := newSeal(secret)
	sealed := io.MultiWriter(w, seal)
	head := binary.LittleEndian.AppendUint64([]byte(snapshotMagic), snapshotVersion)
	head = binary.LittleEndian.AppendUint64(head, uint64(kind))
	head = append(head, keyCheck(secret)...)
	head = binary.LittleEndian.AppendUint64(head, uint64(len(fields)))
	for _, field := range fields {
		head = binary.LittleEndian.AppendUint64(head, field)
	}
	if _, err := sealed.Write(head); err != nil {
		return err
	}
	if _, err := sealed.Write(seal.Sum(nil)); err != nil {
		return err
	}
	buf := make([]byte, 0, snapshotPart*layout.LineSize)
	for len(lines) > 0 {
		n := min(len(lines), snapshotPart)
		buf = buf[:0]
		for i := range lines[:n] {
			for _, word := range lines[i] {
				buf = binary.LittleEndian.AppendUint64(buf, word)
			}
		}
		if _, err := sealed.Write(buf); err != nil {
			return err
		}
		lines = lines[n:]
	}
	_, err := w.Write(seal.Sum(nil))
	return err
}

// snapshotReader reads a snapshot. It reads no byte beyond its end.
type snapshotReader struct {
	from io.Reader
	seal hash.Hash
}

func newSnapshotReader(r io.Reader, secret Secret) *snapshotReader {
	return &snapshotReader{r, newSeal(secret)}
}

// read fills b. part names what it reads, for errors.
func (r *snapshotReader) read(b []byte, part string) error {
	switch _, err := io.ReadFull(r.from, b); {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%w: it ends in its %s", ErrSnapshot, part)
	case err != nil:
		return fmt.Errorf("reading the %s of a snapshot: %w", part, err)
	}
	return nil
}

// sealed is read, of what the next seal covers.
func (r *snapshotReader) sealed(b []byte, part string) error {
	err := r.read(b, part)
	r.seal.Write(b)
	return err
}

// checkSeal reads a seal, and compares it with that of all that was read.
func (r *snapshotReader) checkSeal(part string) error {
	want := r.seal.Sum(nil)
	got := make([]byte, len(want))
	if err := r.sealed(got, "seal of the "+part); err != nil {
		return err
	}
	if !bytes.Equal(got, want) {
		return fmt.Errorf("%w: its %s is damaged: the seal does not fit", ErrSnapshot, part)
	}
	return nil
}

// fields reads all that comes before the lines.
func (r *snapshotReader) fields(kind snapshotKind, secret Secret, count int) ([]uint64, error) {
	head := make([]byte, 48)
	if err := r.sealed(head, "header"); err != nil {
		return nil, err
	}
	version, is := binary.LittleEndian.Uint64(head[8:]), binary.LittleEndian.Uint64(head[16:])
	switch {
	case string(head[:8]) != snapshotMagic:
		return nil, fmt.Errorf("%w: not a snapshot of a filter", ErrSnapshot)
	case version != snapshotVersion:
		return nil, fmt.Errorf("%w: version %d, this program reads version %d", ErrSnapshot, version, snapshotVersion)
	case is != uint64(kind):
		return nil, fmt.Errorf("%w: of kind %d, must be of kind %d", ErrSnapshot, is, kind)
	case !bytes.Equal(head[24:40], keyCheck(secret)):
		return nil, fmt.Errorf("%w: made under another key", ErrSnapshot)
	case binary.LittleEndian.Uint64(head[40:]) != uint64(count):
		return nil, fmt.Errorf("%w: %d fields, must be %d", ErrSnapshot, binary.LittleEndian.Uint64(head[40:]), count)
	}
	data := make([]byte, 8*count)
	if err := r.sealed(data, "header"); err != nil {
		return nil, err
	}
	if err := r.checkSeal("header"); err != nil {
		return nil, err
	}
	fields := make([]uint64, count)
	for i := range fields {
		fields[i] = binary.LittleEndian.Uint64(data[8*i:])
	}
	return fields, nil
}

// lines fills lines, and checks the seal behind them.
func (r *snapshotReader) lines(lines []layout.Line) error {
	buf := make([]byte, snapshotPart*layout.LineSize)
	for len(lines) > 0 {
		n := min(len(lines), snapshotPart)
		part := buf[:n*layout.LineSize]
		if err := r.sealed(part, "lines"); err != nil {
			return err
		}
		for i := range 8 * n {
			lines[i/8][i%8] = binary.LittleEndian.Uint64(part[8*i:])
		}
		lines = lines[n:]
	}
	return r.checkSeal("lines")
}
