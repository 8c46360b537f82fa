// SPDX-License-Identifier: Apache-2.0

// Package paper runs the constructs of "One is Enough: Distributed Filtering for
// Duplicate Elimination" (Koloniari, Ntarmos, Pitoura, Souravlias, CIKM 2011) over NATS,
// to measure what engine/paper counts in one process. It has only tests: package chain
// has the slices and chains that flowdedup-hub runs.
//
// Hubs measure the figures of bench/papers/WIRE.md, and the vertical slices of Figure 1(b)
// are links of package chain. The constructs that a hub lacks are here: slices that are asked
// side by side, which let both of two equal packets pass that two sites send at the same
// time, and trees whose leaves are at sites.
//
// Such trees have a leaf at each site, at a leaf node of NATS, and a root at the hub.
// Elements that a leaf knows are decided at the site. In a dense tree a leaf sets the
// elements that it tests, in a sparse tree only when the root has not known them. The root
// decides by a single test-and-set in both: the paper locks it, but no lock is needed here.
package paper
