// SPDX-License-Identifier: Apache-2.0

package distinct

import (
	"encoding/binary"
	"io"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/asm/permute"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/snapshot"
)

// Sketched estimates the number of distinct elements in 16 KiB: see Sketch. It
// remembers no element. TestAndSet calls a key new if it changes the sketch. So keys that
// it calls new are new, but most new keys beyond the first thousands count as seen.
type Sketched[K any] struct {
	sketch Sketch
	kind   Contents // its Words and Sketch are unset
	words  func(words []uint64, keys []K)
	buf    [512]uint64
}

var (
	_ engine.Counter[digest.Digest] = (*Sketched[digest.Digest])(nil)
	_ engine.Counter[uint32]        = (*Sketched[uint32])(nil)
)

// NewSketchedDigests returns an empty counter of keyed digests.
func NewSketchedDigests() *Sketched[digest.Digest] {
	return &Sketched[digest.Digest]{kind: Contents{Width: 64}, words: func(words []uint64, keys []digest.Digest) {
		for i, d := range keys {
			words[i] = digestWord(d)
		}
	}}
}

// NewSketchedIPv4 returns an empty counter of IPv4 addresses. The key is as in IPv4Rows.
func NewSketchedIPv4(key [16]byte) *Sketched[uint32] {
	bijection := permute.NewBijection(key)
	var permuted [len(Sketched[uint32]{}.buf)]uint32
	return &Sketched[uint32]{kind: Contents{Width: 32}, words: func(words []uint64, keys []uint32) {
		bijection.Permute(permuted[:len(keys)], keys)
		for i, word := range permuted[:len(keys)] {
			words[i] = uint64(word)
		}
	}}
}

// TestAndSet is as engine.Counter says, except that some new keys count as seen. It does
// not allocate.
func (s *Sketched[K]) TestAndSet(seen []uint64, keys []K) {
	for at := 0; at < len(keys); {
		n := min(len(keys)-at, len(s.buf))
		s.words(s.buf[:n], keys[at:at+n])
		for i, word := range s.buf[:n] {
			s.buf[i] = s.kind.Hash(word)
		}
		s.sketch.Add(seen[at/64:], s.buf[:n])
		at += n
	}
}

// Fill adds the contents of another counter, which must have the same key and no sample.
func (s *Sketched[K]) Fill(from Contents) { from.AddTo(&s.sketch) }

// AddTo adds the contents to a sketch.
func (c *Contents) AddTo(to *Sketch) {
	if c.Sketch != nil {
		to.Merge(c.Sketch)
		return
	}
	for _, words := range c.Groups {
		for _, word := range words {
			to.add(c.Hash(word))
		}
	}
}

// Counts is as engine.Counter says.
func (s *Sketched[K]) Counts() engine.Counts {
	return SketchCounts(s.sketch.Estimate(), SketchSize)
}

// SketchCounts returns the counts of sketches of the given size in bytes.
func SketchCounts(e Estimate, memory int) engine.Counts {
	return engine.Counts{Distinct: e.Distinct, Low: e.Low, High: e.High, MemoryBytes: memory, Method: "sketch"}
}

// Contents is as Lister says.
func (s *Sketched[K]) Contents() Contents {
	c := s.kind
	c.Sketch = &s.sketch
	return c
}

// Close is as engine.Counter says.
func (s *Sketched[K]) Close() error { return nil }

// Snapshot writes the sketch for Restore. Arguments and errors are as in
// IPv4Rows.Snapshot.
func (s *Sketched[K]) Snapshot(w io.Writer, secret engine.Secret, label string) error {
	registers := s.sketch.Append(nil)
	size := len(registers)
	registers = append(registers, make([]byte, 7)...)
	out := snapshot.NewWriter(w, snapshot.Sketch, secret, label, snapshot.Fields{&size})
	out.Words((size+7)/8, func(i int) uint64 { return binary.LittleEndian.Uint64(registers[8*i:]) })
	return out.End()
}

// Restore reads the snapshot that Snapshot wrote, and nothing behind it. It returns the
// errors of RestoreIPv4Rows.
func (s *Sketched[K]) Restore(r io.Reader, c snapshot.RestoreConfig) error {
	var size uint64
	empty := func(snapshot.RestoreConfig) (*Sketched[K], error) {
		if size > SketchSize {
			return nil, snapshot.ErrInconsistent
		}
		return s, nil
	}
	load := func(_ *Sketched[K], in *snapshot.Reader) error {
		registers := make([]byte, size+7)
		put := func(i int, word uint64) { binary.LittleEndian.PutUint64(registers[8*i:], word) }
		if err := in.Words(int(size+7)/8, "registers", put); err != nil {
			return err
		}
		if s.sketch.Restore(registers[:size]) != nil {
			return snapshot.ErrInconsistent
		}
		return nil
	}
	_, err := snapshot.Restore(r, snapshot.Sketch, c, snapshot.Fields{&size}, empty, load)
	return err
}
