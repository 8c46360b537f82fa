// Package layout is the data: what filters lie in, and what each kind of line looks like.
//
//	question                                      file
//	memory for lines, on huge pages               arena.go
//	sizes of caches and of memory                 cache.go, memory.go, available.go
//	rows of fingerprints                          fingerprint.go
//	exact rows of addresses and of digests        exact.go
//	timed rows: fingerprint, point and time       timed.go
//	sliding rows: part of a digest, and a date    sliding.go
//	bits of a blocked Bloom filter                bloom.go
//	bits that wear out                            stable.go
//	cells that wear out, and timers               cells.go
//
// It decides nothing about duplicates, and knows no kernels: those are in asm/line.
package layout
