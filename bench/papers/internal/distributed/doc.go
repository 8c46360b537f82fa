// Package distributed makes the figures on slicing and Bloom trees of paper "One is
// Enough: Distributed Filtering for Duplicate Elimination" (Koloniari, Ntarmos,
// Pitoura, Souravlias, CIKM 2011) anew.
//
// The paper's web log and network flow log are private. Streams with as many events
// and distinct ones and the same kind of popularity take their place, see dataset.
// What depends on where events come from (Figure 12, Table 1) is comparable in its
// order only.
package distributed
