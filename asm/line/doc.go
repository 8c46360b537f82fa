// SPDX-License-Identifier: Apache-2.0

// Package line holds the kernels of lines: the test-and-set of every kind of line of 64
// bytes, in batches. A kernel chooses no parameters, keeps no state between calls and
// does not allocate. Package layout has a picture of each kind of line. Functions panic
// if slices are too short or parameters are out of range; NewCellRule and NewTimerRule
// return an error for these.
//
//	question                              function               contract        plain twin
//	is it a copy within a window          TestAndSetTimed        timed.go        timed_generic.go
//	the same near eras, and as it grows   TestAndSetTimedAround  timed_around.go
//	the same in less memory, coarsely     TestAndSetCoarse       coarse.go       coarse_generic.go
//	the same as it grows                  TestAndSetCoarseAround coarse.go
//	was it seen (fingerprints, evicted)   TestAndSetRows         fingerprint.go  fingerprint_generic.go
//	was it seen (exact, of 32 bits)       TestAndSetExact32, 16  exact.go        fingerprint_generic.go
//	was it seen (exact, of 64 bits)       TestAndSetExact64      exact.go        fingerprint_generic.go
//	was it seen (a bit for each word)     TestAndSetBitmap       exact.go        exact.go
//	when was it seen last                 TestAndSetSliding      sliding.go      sliding.go
//	was it seen (Bloom filter)            TestAndSetBloom        bloom.go        bloom.go
//	was it seen (stable filter of bits)   TestAndSetStable       stable.go       stable_generic.go
//	was it seen (stable filter of cells)  TestAndSetCells        cells.go        cells.go
//	is it a copy (Bloom filter of timers) TestAndSetTimers       timers.go       timers_generic.go
//	does it come from home                AtHome                 homes.go        homes.go
//
// The kernels in assembly are in files with the same first word: timed_avx512_amd64.s has
// the AVX-512 kernels of timed rows. They handle no spare lines: timed_spare.go has the
// rule for these, and timed_second.go the second pass over a batch that applies it. Exact
// rows use the kernels of fingerprint rows. The decrement of a stable Bloom filter is
// evict in stable_generic.go and clear... in the files stable_*.s for bits, and
// testAndSet2 and testAndSet4 in cells.go for cells.
//
// # Levels
//
// The CPU decides which kernel runs (internal/cpu), which changes only the time.
// dispatch_amd64.go has a table of the kernels at each level, dispatch_arm64.go has those
// for NEON. Where a level has no kernel, the next plainer kernel runs, in the end the twin
// in plain Go, named Generic. The functions of levels_*.go and dispatch_*.go choose among
// them. Every kernel equals its twin bit for bit. The build tag purego builds only the
// twins.
//
// bench/levels.sh measures the gain of each kernel level in a whole command. CPU time for
// six million packets of 60 bytes in one worker, medians of rounds in turns on busy machines
// with AVX-512, on 27 November 2026: seven rounds on an Intel Xeon of family 6, model 207,
// and nine on an AMD EPYC of family 25, model 17 (Zen 4):
//
//	                                        Intel Xeon               AMD EPYC
//	command                                 AVX-512  AVX2    generic AVX-512  AVX2    generic
//	dedup                                   306 ms   x 1.07  x 1.76  227 ms   x 1.06  x 1.67
//	dedup --method fine                     331 ms   x 1.01  x 1.70  241 ms   x 1.01  x 1.71
//	dedup --method coarse                   343 ms   x 1.10  x 1.75  236 ms   x 1.03  x 1.86
//	dedup --window none --method lru        287 ms   x 0.99  x 1.62  247 ms   x 1.01  x 1.54
//	dedup --window none --method sbf        283 ms   x 1.07  x 1.74  260 ms   x 1.05  x 1.60
//	dedup --window none --method rlbsbf     400 ms   x 1.12  x 1.83  255 ms   x 1.04  x 1.57
//	distinct --of flow                      426 ms   x 1.08  x 1.46  261 ms   x 1.01  x 1.49
//	distinct --of flow --method bloom       641 ms   x 1.20  x 1.79  414 ms   x 1.23  x 2.03
//
// On the Xeon a packet takes some 50 ns, of which the kernel is 6 to 13. Differences of 0.03
// are noise. In the benchmarks of the kernels, with 16 MiB, AVX2 takes 1.07 to 1.3 of the
// time of AVX-512 for rows, coarse rows, cells and timers, 1.2 to 1.6 for filters of bits
// and timed rows, and 2 and more for sliding rows and timed rows with spare lines: 1 to 9 ns
// an element. It is faster nowhere.
//
// On Zen 4, which halves vectors of 512 bits, AVX2 is faster nowhere, either. With 128 KiB
// it takes 1.0 to 1.1 of the time for coarse and exact rows, 1.2 to 1.6 for rows, sliding
// rows, filters of bits that decay, and timers, 1.7 to 1.8 for cells, and 1.9 to 2.8 for
// Bloom filters and timed rows. With 16 MiB memory is the limit on the busy machine: no
// kernel takes less than 5.7 ns, and AVX2 1.0 to 1.5 of the time, for timed rows 1.2 to 1.9.
//
// So vectors take four tenths off the time of the default command.
//
// Cells and sliding rows have no kernels for AVX-512: they took 1 and 3 percent off the time of
// "dedup --method sbf --param Max=3" and nothing off "distinct --slide" on the EPYC (29 November,
// seven rounds). Rows of fingerprints keep theirs: "distinct" takes 1.02 to 1.07 without them
// (there, pairs).
//
// # Elements and positions
//
// A call looks up its elements in their order, so elements of one call find each
// other. Bit i of seen is the verdict on element i. Bits after the last element are
// cleared in the last word. The high half of a digest, digests[i][1], chooses the line.
// The low half, digests[i][0], is the part of the element that the line stores or checks.
//
// Some kernels need random words. The random word of an element depends on its digest and
// its position in the stream (see prng). Element i of a call has position position + i,
// modulo 2^64. So verdicts and memory do not depend on how a stream is cut into calls.
//
// # Inside
//
// A call goes through pipeline.go in batches of 64 elements (batch.go), which vectors
// fill where there are any. A kernel gets the first line, the current batch, the batch
// ahead, whose lines it prefetches 32 elements before their turn, the number of elements,
// and the parameters of its kind. It returns a bit for each element, shifted in from
// below, so that the last element is bit 0 (see inOrder), and counts or more bits.
package line
