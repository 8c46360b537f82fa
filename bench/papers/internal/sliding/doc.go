// Package sliding reproduces Figures 9 to 11 of "One is Enough: Distributed Filtering for
// Duplicate Elimination" (Koloniari, Ntarmos, Pitoura, Souravlias, CIKM 2011): Bloom
// filters of timers, the equal timers heuristic, and filters of dynamic size under
// bursts.
//
// The paper's web log is not public. A Zipf stream with about as many distinct elements
// replaces it.
package sliding
