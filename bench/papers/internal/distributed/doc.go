// Package distributed reproduces the figures on slicing and Bloom trees of paper "One is
// Enough: Distributed Filtering for Duplicate Elimination" (Koloniari, Ntarmos, Pitoura,
// Souravlias, CIKM 2011).
//
// The paper's web log and network flow log are private. Streams with as many events, as
// many distinct ones and the same kind of popularity replace them; see dataset. Only the
// order is comparable for what depends on where events come from (Figure 12, Table 1).
package distributed
