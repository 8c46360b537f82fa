// Package distributed reproduces the figures of paper "One is Enough: Distributed Filtering
// for Duplicate Elimination" (Koloniari, Ntarmos, Pitoura, Souravlias, CIKM 2011), and
// makes tables of what it only describes.
//
// The paper's web log and network flow log are private. Streams with as many events, as
// many distinct ones and the same kind of popularity replace them; see dataset and source. Only the
// order is comparable for what depends on where events come from (Figure 12, Table 1).
package distributed
