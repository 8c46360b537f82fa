// Package stream makes the synthetic streams of elements that the experiments
// share, and counts a filter's errors on them.
//
// Elements are numbers. Filters see their [Digest].
package stream
