// Package engine holds the filters: what remembers the digests of a stream,
// within which window, in how much memory and with which probability of error.
// Filters take batches, decide by stream positions and packet times alone, never
// by moments of the run or the size of batches, and know nothing of packets.
package engine
