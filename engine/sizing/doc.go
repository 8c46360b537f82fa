// SPDX-License-Identifier: Apache-2.0

// Package sizing chooses a duplicate filter for a load: for every method it finds the
// best parameters for the available memory, or the least memory that is enough. It
// predicts the error rates and recommends a method. It runs filters on a [Sample] only. [Plan] answers a
// [Question] with an [Answer], whose [Candidate] values name the parameters; errors wrap
// [ErrQuestion].
//
// # The load
//
// A stream is described by the share of its elements that are new (not seen within the
// window) and by the gap, the distance of repeats from the last sighting of their
// element. Both together give D(g), the number of distinct elements among g consecutive
// elements (Denning, Schwartz, Properties of the Working-Set Model, Communications of the
// ACM, 1972):
//
//	D(g) = sum for i < g of (share of new + share of repeats * P(gap > i))
//
// A [Tracker] measures both on a stream in bounded memory, and takes a [Sample]; a [TimeSpan]
// measures how long the stream takes.
//
// A filter's forgetting depends on D, not on g: only distinct elements displace each
// other. The model assumes that streams are stationary and that unbounded streams are long.
// The rates are the filter's steady state, which is its worst. If Length gives the length
// of an unbounded stream, they are means over it, from an empty filter on.
//
// Different is the number of distinct elements in a window. The share of new elements and the gaps
// then are those of a fixed population whose members come equally often.
//
// Packet windows begin at an insertion, unless Refresh is set: a copy does not renew its
// element's memory. Sightings of an element are then a renewal process, from which follow
// how many copies an insertion has, how many elements are inserted, and, for each number
// of elements that share a row, how many copies it misses. This assumes that the gaps of
// an element are independent of each other, and that no element is busier than others.
//
// A [Sample] needs no assumption. Filters run on it, with its share of the memory, and rates are means
// over the stream, from an empty filter on. A busy element that a filter forgets is inserted again
// at once, so it is missed far less often than a model of all elements predicts. A sample of a
// share of the elements may have too few or too many busy elements: misses are corrected by its
// number of repeats. If runs miss nothing, the rate of the model stays, up to one miss in all runs.
//
// # The rates
//
// FPR is the probability that a new element is reported as a repeat. FNR is the share of
// the repeats (within the window) that are reported as new. A [Method] says whether its
// FPR is exact or a bound.
//
// In rows of fingerprints, the distinct elements that fall into a row evict an element; their number
// is a Poisson variable. Rows with spare lines follow theory.SpareRows. A [Cell] of a stable Bloom
// filter is clear if it was cleared after it was last set (Bera, Dutta, Narang, Bhattacherjee,
// Advanced Bloom Filter Based Algorithms for Efficient Approximate Data De-Duplication in Streams,
// 2012, Eq. 3.10 to 3.17); if the rate of clearings follows from the rates of the filter, both are
// solved together. Measurements show the accuracy of the FNR: with a [Sample] within a fifth, below
// 1 % within a third, whatever the stream; without it within 5 %, for timed rows within 12 %. These
// are means: below 0.1 % few lines of a small filter decide, which differ by run. In windows that
// begin at an insertion, lines of a fixed population stay full of the same members, and misses are
// insertions into these lines, which theory.Population simulates. Then the FNR is within 15 %, below
// 1 % within a third, below 0.1 % within half, and below 0.01 % up to several times too high. If
// members come unequally often, it is up to six times too high or, if half of a window or more
// differs, down to half of the true rate, below 1 % a quarter. The formulas are for large filters:
// with fewer than some hundred cells the rates are rough.
//
// # The ranking
//
// A method that does not serve the window is not a candidate. The others are sorted by
//
//  1. whether they keep the requested FPR (and FNR, if the question is how much memory is
//     needed);
//  2. whether they fit into the memory;
//  3. whether they are for measurements, and exact maps, which come last as the yardstick;
//  4. the FPR, if it is above the bound;
//  5. the FNR. Values within the bound of [Question], or within a twentieth of the
//     lowest, count as equal, since the models are no more accurate;
//  6. the cache lines that an element touches, because they take most of a filter's time,
//     while an answer that fits the memory gains nothing from being smaller;
//  7. the edges of a window, without a given memory only if they are off by over a hundredth;
//  8. the least sufficient memory;
//  9. the FPR.
//
// The first candidate is recommended if it meets the request. LRU rows come in the shapes that
// the engine has.
//
// A program plans other methods by a [Model] of its own and [Request.Needed], as
// bench/papers/internal/models does for the papers' filters.
//
//	question                             file
//	a question; its answer; the reasons  question.go; plan.go; reason.go
//	methods; their designs               method.go; design.go
//	the load, measured or described      tracker.go, gaps.go; load.go, different.go
//	a part of the load; runs on it       sample.go; replay.go
//	windows that copies do not extend    anchored.go
//	rates of fingerprints in rows        rows.go
//	rates of cells and of bits           cell.go
//	exact methods                        buffer.go
package sizing
