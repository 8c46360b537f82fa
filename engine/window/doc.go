// Package window tells which elements of a stream are copies of earlier ones within a window of
// time or of elements. Timed is what to use, Exact its measure, and Timers a method of the
// literature.
package window
