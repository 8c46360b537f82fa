// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"errors"
	"math/bits"
	"unsafe"

	"github.com/flowdedup/flowdedup/layout"
)

// pool has entries by their numbers, in chunks. Each chunk is twice as large as the chunk before.
// Entries do not move. Memory that no entry has used yet is not touched.
type pool struct {
	chunks [][]entry
	n      uint32
	memory arenas
}

// firstChunk is log2 of the entries of the first chunk.
const firstChunk = 10

// add returns the number of a new entry of zeros.
func (p *pool) add() uint32 {
	number := p.n
	if chunk, _ := placeOf(number); chunk == len(p.chunks) {
		p.chunks = append(p.chunks, memoryOf[entry](&p.memory, 1<<(firstChunk+chunk)))
	}
	p.n++
	return number
}

// at returns an entry.
func (p *pool) at(number uint32) *entry {
	chunk, i := placeOf(number)
	return &p.chunks[chunk][i]
}

// placeOf returns the chunk of an entry, and its place there.
func placeOf(number uint32) (chunk int, i uint32) {
	number += 1 << firstChunk
	size := bits.Len32(number) - 1
	return size - firstChunk, number - 1<<size
}

// bytes returns the memory of the entries.
func (p *pool) bytes() int { return int(p.n) * int(unsafe.Sizeof(entry{})) }

// close gives the memory back.
func (p *pool) close() error { return p.memory.close() }

// arenas are memory on huge pages where the system has any: with small pages, most of the time of
// a lookup goes to finding the page.
type arenas []*layout.Arena

// memoryOf returns zeros that close gives back. T has no pointers.
func memoryOf[T any](all *arenas, n int) []T {
	var one T
	a, err := layout.NewArena((n*int(unsafe.Sizeof(one)) + layout.LineSize - 1) / layout.LineSize)
	if err != nil {
		return make([]T, n)
	}
	*all = append(*all, a)
	return unsafe.Slice((*T)(unsafe.Pointer(&a.Lines()[0])), n)
}

// close gives the memory back.
func (all arenas) close() error {
	var errs []error
	for _, a := range all {
		errs = append(errs, a.Close())
	}
	return errors.Join(errs...)
}
