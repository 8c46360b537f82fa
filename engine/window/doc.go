// SPDX-License-Identifier: Apache-2.0

// Package window tells which elements of a stream are copies of earlier ones within a
// window of time or of elements. Timed is the filter to use, and Coarse where memory is short
// and one false positive in a billion, or in a million, is no matter. Exact is the reference that they are
// compared with. Timers and Partitioned are methods of the literature. For streams without a window in
// fixed memory see package stream; for counts of distinct elements see packages distinct and
// sliding. All five filters implement engine.PacketFilter, and their
// constructors return errors that wrap engine.ErrWindow, engine.ErrFPR, engine.ErrMemory
// or ErrTimers.
package window
