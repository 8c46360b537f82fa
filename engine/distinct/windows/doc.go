// SPDX-License-Identifier: Apache-2.0

// Package windows counts the distinct elements of several keys of one stream: sources,
// destinations and flows of the same packets, say. It counts them in the windows of a
// calendar, over a span before any moment, or in windows that slide.
//
// A Counter takes elements in batches, with the times of their packets. It takes all
// decisions at positions of the stream and by packet times. So counts depend neither on
// how the stream is cut into batches nor on the wall clock. It does not read packets:
// capture/keys makes the keys.
//
// Memory is taken by the current window, and
//
//   - by the next window once seven eighths of the time of this window have passed: as much
//     as the counters of this window need, and at most 1 GiB;
//   - by windows that wait for packets out of order, at most 1 GiB.
//
// A Counter returns the memory of closed windows in the background. Config.Budget bounds
// all memory, including the memory of Config.Past. Elements beyond it are counted by
// samples. Errors are about memory, or come from Config.Emit or from snapshots.
//
//	question                       file
//	keys, methods, limits          config.go
//	elements of a batch            batch.go
//	windows that open and close    counter.go, window.go
//	windows that slide             slides.go
//	a span before any moment       past.go
//	keys counted from larger keys  implied.go
//	new, returning and gone keys   changes.go
//	memory; samples beyond it      memory.go; fallback.go
//	saved counts                   snapshot.go
package windows
