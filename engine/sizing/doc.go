// Package sizing chooses a duplicate filter for a load: for every method it finds
// the best parameters in the memory there is, or the least memory that is enough,
// predicts the error rates, and recommends one.
//
// # The load
//
// A stream is described by the share of its elements that are new (not seen within
// the window) and by how far repeats lie behind the last sighting of their element,
// the gap. From both follows D(g), the number of different elements among g
// consecutive ones (Denning, Schwartz, Properties of the Working-Set Model,
// Communications of the ACM, 1972):
//
//	D(g) = sum for i < g of (share of new + share of repeats * P(gap > i))
//
// What a filter forgets depends on D, not on g: only different elements take each
// other's place. Streams are taken as stationary, and unbounded ones as long: the
// rates are those that a filter settles at, which are its worst.
//
// # The rates
//
// FPR is the probability that a new element is taken for a repeat, FNR the share of
// the repeats (within the window) that are taken for new. A [Method] says whether its FPR
// is exact, a bound or an estimate.
//
// Stable and biased sampling filters share one model of a cell, which generalises Bera,
// Dutta, Narang, Bhattacherjee, Advanced Bloom Filter Based Algorithms for Efficient
// Approximate Data De-Duplication in Streams, 2012, Eq. 3.10 to 3.17: it is clear if it was
// cleared after it was last set. Where the rate of clearings follows from the rates of
// the filter, both are solved for. In rows of fingerprints an element is pushed out by the
// different elements, or their sightings, that fall into its row, a Poisson variable.
// Measured against engine and engine/paper, the FNR is right within 5 %, that of quotient
// tables with several cells in a row within 10 %, that of reservoir sampling within 15 %;
// that of quotient tables and cuckoo filters that insert duplicates and evict at random is
// a bound, up to twice the true one where most elements are repeats. Formulas
// are for large filters: with fewer than some hundred cells the rates are rough.
//
// # The ranking
//
// A method that cannot express the window is not a candidate. The others are ordered
// by
//
//  1. whether they keep the FPR asked for (and, where the question is how much memory
//     is needed, the FNR);
//  2. exact maps last, which are there as the yardstick;
//  3. whether package engine has it: the others are there to measure by;
//  4. the FNR, where all that is within the bound of [Question], or within a twentieth of
//     the lowest one, counts as equally good: the models are no more accurate;
//  5. the cache lines that an element touches, because these are what a filter's time
//     goes into, and an answer that fits the memory is not better for being smaller;
//  6. the least memory that would have been enough;
//  7. the FPR.
//
// The first one is recommended if it meets the request. LRU rows come in the shapes that
// the engine has; those of any width are a candidate only where they are better.
package sizing
