// Package window tells which elements of a stream are copies of earlier ones within a
// window of time or of elements. Timed is the filter to use. Exact is the reference that
// it is compared with, and Timers is a method of the literature. For streams without a
// window in fixed memory see package stream; for counts of distinct elements see packages
// distinct and sliding. All three filters implement engine.PacketFilter, and their
// constructors return errors that wrap engine.ErrWindow, engine.ErrFPR, engine.ErrMemory
// or ErrTimers.
package window
