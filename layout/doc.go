// SPDX-License-Identifier: Apache-2.0

// Package layout shows the data: the memory that filters lie in, and what each kind of
// line looks like. Each kind has a page of its own, with a picture of its bits, its
// capacity and its constants:
//
//	kind of line                                   page
//	any line: 64 bytes, eight words                line.go
//	rows of fingerprints                           fingerprint.go
//	exact rows of 32-bit words, digests, bitmaps   exact.go
//	timed rows: fingerprint, point and time        timed.go
//	coarse and fine rows: fingerprint and age      coarse.go
//	sliding rows: part of a digest, and a date     sliding.go
//	bits of a blocked Bloom filter                 bloom.go
//	bits of a stable Bloom filter                  stable.go
//	cells of a stable Bloom filter                 cells.go
//	slices of an age-partitioned Bloom filter      partitioned.go
//	timers of a sliding Bloom filter               timers.go
//	homes of conversations                         affinity.go
//	owners of flows, and the time that they told of owners.go
//
// Memory for lines, on huge pages, is an [Arena] (arena.go). [Caches] and [Budget] tell
// the sizes of caches (cache.go), [MemoryBudget] and [MemoryAvailable] those of memory
// (memory.go). Only [NewArena] fails, with [ErrArenaSize] or the refusal of the system.
//
// The package decides nothing about duplicates and has no kernels. Package asm/line reads
// and writes lines.
package layout
