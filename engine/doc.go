// Package engine holds the filters: what remembers the digests of a stream,
// within which window, in how much memory and with which probability of error.
// Filters take batches, decide by stream positions and packet times alone, never
// by moments of the run or the size of batches, and know nothing of packets.
//
//   - Packets within a window: Timed, and ExactWindow in as much memory as it takes.
//   - Distinct elements since a landmark: ExactV4, Landmark, and the exact Set and
//     SetV4; package calendar cuts time.
//   - Streams without end in constant memory: Stream.
//
// Package paper below has the filters of the literature as printed, package theory
// their closed forms, and package sizing what to choose.
package engine
