// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"unsafe"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/asm/line"
	"github.com/flowdedup/flowdedup/layout"
)

// methodKernel is a method's kernel.
type methodKernel interface {
	// testAndSet handles elements. The first has the number position in the stream.
	// It sets the words of seen that cover them.
	testAndSet(lines []layout.Line, seen []uint64, d []digest.Digest, position uint64)
	// bytes returns the size of the kernel's memory.
	bytes() int
	// counts returns the changes so far.
	counts() kernelCounts
	// restore adds to the result of counts.
	restore(kernelCounts)
}

// kernelCounts are the counts of all kernels.
type kernelCounts struct {
	occupied uint64 // nonempty cells
	evicted  uint64 // fingerprints that made room for others
}

// rowKernel is the kernel of fingerprint rows.
type rowKernel struct {
	params line.RowParams
	sum    line.RowCounts
}

func (k *rowKernel) testAndSet(lines []layout.Line, seen []uint64, d []digest.Digest, position uint64) {
	c := line.TestAndSetRows(lines, seen, d, position, k.params)
	k.sum.Filled += c.Filled
	k.sum.Evicted += c.Evicted
}

func (k *rowKernel) counts() kernelCounts {
	return kernelCounts{occupied: k.sum.Filled, evicted: k.sum.Evicted}
}

func (k *rowKernel) restore(c kernelCounts) {
	k.sum.Filled += c.occupied
	k.sum.Evicted += c.evicted
}

func (k *rowKernel) bytes() int { return int(unsafe.Sizeof(*k)) }

// stableKernel is the kernel of bit lines.
type stableKernel struct {
	params line.StableParams
	sum    line.StableCounts
}

func (k *stableKernel) testAndSet(lines []layout.Line, seen []uint64, d []digest.Digest, position uint64) {
	line.TestAndSetStable(lines, seen, d, position, k.params, &k.sum)
}

func (k *stableKernel) counts() kernelCounts { return kernelCounts{occupied: k.sum.Ones} }

func (k *stableKernel) restore(c kernelCounts) { k.sum.Ones += c.occupied }

func (k *stableKernel) bytes() int { return int(unsafe.Sizeof(*k)) }

// cellKernel is the kernel of cell lines.
type cellKernel struct {
	rule line.CellRule
	sum  line.CellCounts
}

func (k *cellKernel) testAndSet(lines []layout.Line, seen []uint64, d []digest.Digest, position uint64) {
	line.TestAndSetCells(lines, seen, d, position, &k.rule, &k.sum)
}

func (k *cellKernel) counts() kernelCounts { return kernelCounts{occupied: k.sum.NonZero} }

func (k *cellKernel) restore(c kernelCounts) { k.sum.NonZero += c.occupied }

func (k *cellKernel) bytes() int { return int(unsafe.Sizeof(*k)) }
