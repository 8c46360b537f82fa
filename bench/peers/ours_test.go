// SPDX-License-Identifier: Apache-2.0

package peers

import (
	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/asm/line"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/distinct"
	"github.com/flowdedup/flowdedup/engine/window"
	"github.com/flowdedup/flowdedup/layout"
)

// digester turns keys into digests.
type digester struct {
	aes     *digest.AES
	digests [batch]digest.Digest
}

func newDigester() *digester { return &digester{aes: digest.NewAES(key{3: 1})} }

func (d *digester) sum(keys []key) []digest.Digest {
	d.aes.Sum16(d.digests[:], keys)
	return d.digests[:len(keys)]
}

// lines is a kernel over an arena.
type lines struct {
	*digester
	*layout.Arena
	kernel func(lines []layout.Line, seen []uint64, digests []digest.Digest)
}

func (l *lines) outside() int { return l.Bytes() }

func (l *lines) TestAndSet(seen []uint64, keys []key) {
	l.kernel(l.Lines(), seen, l.sum(keys))
}

func openLines(memory int, kernel func(lines []layout.Line, seen []uint64, digests []digest.Digest)) (filter[key], error) {
	arena, err := layout.NewArena(memory / layout.LineSize)
	if err != nil {
		return nil, err
	}
	return &lines{newDigester(), arena, kernel}, nil
}

// openBloom opens a blocked Bloom filter.
func openBloom(memory, rounds int) (filter[key], error) {
	return openLines(memory, func(lines []layout.Line, seen []uint64, digests []digest.Digest) {
		clear(seen[:(len(digests)+63)/64])
		line.TestAndSetBloom(lines, seen, digests, rounds)
	})
}

// openRows opens rows of fingerprints.
func openRows(memory int, p line.RowParams) (filter[key], error) {
	position := uint64(0)
	return openLines(memory, func(lines []layout.Line, seen []uint64, digests []digest.Digest) {
		line.TestAndSetRows(lines, seen, digests, position, p)
		position += uint64(len(digests))
	})
}

// packets is a packet filter whose window is a number of elements, and slides: an
// element is remembered from its last sighting on.
type packets struct {
	*digester
	engine.PacketFilter
	times [batch]int64
}

func (p *packets) TestAndSet(seen []uint64, keys []key) {
	p.PacketFilter.TestAndSet(seen, p.sum(keys), p.times[:len(keys)], nil)
}

// outside is the filter's own size; the exact one lies on the heap.
func (p *packets) outside() int {
	if st := p.Stats(); st.Method == "timed" {
		return st.MemoryBytes
	}
	return 0
}

func openTimed(memory int, elements uint64) (filter[key], error) {
	f, err := window.NewTimed(window.TimedConfig{
		Window: window.Window{Packets: int64(elements)}, Memory: memory, Refresh: true,
	})
	return &packets{digester: newDigester(), PacketFilter: f}, err
}

func openExactWindow(elements uint64) (filter[key], error) {
	f, err := window.NewExact(window.ExactConfig{
		Window: window.Window{Packets: int64(elements)}, Refresh: true,
	})
	return &packets{digester: newDigester(), PacketFilter: f}, err
}

// digests is a counter of digests that is given keys.
type digests struct {
	*digester
	engine.Counter[digest.Digest]
	held func() int
}

func (d *digests) TestAndSet(seen []uint64, keys []key) { d.Counter.TestAndSet(seen, d.sum(keys)) }
func (d *digests) outside() int                         { return d.held() }

func openScalableBloom(fpr float64) (filter[key], error) {
	l, err := distinct.NewScalableBloom(distinct.ScalableBloomConfig{FPR: fpr})
	if err != nil {
		return nil, err
	}
	return &digests{newDigester(), l, func() int { return l.Counts().MemoryBytes }}, nil
}

func openDigestRows() (filter[key], error) {
	r, err := distinct.NewDigestRows(0)
	if err != nil {
		return nil, err
	}
	return &digests{newDigester(), r, func() int { return r.Counts().MemoryBytes }}, nil
}

func openDigestMap() (filter[key], error) {
	return &digests{newDigester(), distinct.NewDigestMap(), func() int { return 0 }}, nil
}

// addresses is a counter of IPv4 addresses.
type addresses struct {
	engine.Counter[uint32]
	held func() int
}

func (a *addresses) outside() int { return a.held() }

func openIPv4Rows() (filter[uint32], error) {
	e, err := distinct.NewIPv4Rows([16]byte{3: 1}, 0)
	if err != nil {
		return nil, err
	}
	return &addresses{e, func() int { return e.Counts().MemoryBytes }}, nil
}

func openIPv4Map() (filter[uint32], error) {
	return &addresses{distinct.NewIPv4Map(), func() int { return 0 }}, nil
}
