// Package line holds the kernels of lines: the test-and-set of every kind of line of 64 bytes,
// in batches. A kernel chooses no parameters, keeps no state between calls and does not
// allocate. Package layout says what each kind of line looks like.
//
//	question                              function               contract        plain twin
//	is it a copy within a window          TestAndSetTimed        timed.go        timed_generic.go
//	the same between two eras or filters  TestAndSetTimedAround  timed_around.go
//	was it seen (fingerprints, evicted)   TestAndSetRows         fingerprint.go  fingerprint_generic.go
//	was it seen (exact, of 32 bits)       TestAndSetExact32, 16  exact.go        fingerprint_generic.go
//	was it seen (exact, of 64 bits)       TestAndSetExact64      exact.go        fingerprint_generic.go
//	was it seen (a bit for each word)     TestAndSetBitmap       bitmap.go       bitmap.go
//	when was it seen last                 TestAndSetSliding      sliding.go      sliding_generic.go
//	was it seen (Bloom filter)            TestAndSetBloom        bloom.go        bloom_generic.go
//	was it seen (bits that wear out)      TestAndSetStable       stable.go       stable_generic.go
//	was it seen (cells that wear out)     TestAndSetCells        cells.go        cells_generic.go
//	is it a copy (Bloom filter of timers) TestAndSetTimers       timers.go       timers_generic.go
//
// The kernels in assembly are in files with the same first word: timed_avx512_amd64.s has
// those of timed rows for AVX-512. Those of exact rows are the ones of fingerprint rows. What
// decrements a stable Bloom filter is evict in stable_generic.go, clear... in the files
// stable_*.s, and testAndSet2 and testAndSet4 in cells_generic.go.
//
// # Levels
//
// Which kernel runs is decided by what the CPU has (internal/cpu), and changes nothing but the
// time. dispatch_amd64.go has the choice as a table, dispatch_arm64.go that for NEON. What has
// no kernel for a level runs the next plainer one, in the end its twin in plain Go, named
// Generic, which every kernel equals bit for bit. The build tag purego leaves the twins alone.
//
// # Elements, positions and order
//
// A call takes the elements of its slices one after the other, so those of one call find each
// other. Bit i of seen is the verdict on element i; bits behind the last element are cleared in
// the last word. A digest's high half, digests[i][1], chooses the line, and its low half,
// digests[i][0], is what a line knows of it.
//
// Some kernels leave something to chance. What they draw for an element comes of its digest and
// its position in the stream alone (see prng). Element i has number position + i of the stream,
// modulo 2^64, if order is nil: the call has consecutive elements, as all calls of the engine
// have. If not, it has number position + order[i]: the call has the elements of one worker, which
// owns a range of lines, and order says where in the stream they come from. So verdicts and memory depend neither on how a
// stream is cut into calls nor on how lines are shared between workers.
//
// # Inside
//
// A call goes through pipeline.go: batches of 64 elements (batch.go), made with vectors where
// there are any. A kernel gets the first line, the current batch, the batch ahead, whose lines
// it fetches 32 elements before their turn, the number of elements, and what is particular to
// its kind. It returns a bit for each element, shifted in from below, so that the last element is
// bit 0 (see inOrder), and a count or more bits.
package line
