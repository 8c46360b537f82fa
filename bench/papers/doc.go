// SPDX-License-Identifier: Apache-2.0

// Command papers reproduces the tables and figures of the papers that flowdedup's filters
// come from. It prints each number next to the printed one:
//
//	go -C bench/papers run .                           all, scaled to minutes
//	go -C bench/papers run . -list                     the list of tables
//	go -C bench/papers run . -only p1.table4,p3        some
//	go -C bench/papers run . -only p1.table4 -full     the printed sizes: hours
//
// The papers are p0 (Deng, Rafiei, 2006: stable Bloom filters), p1 (Bera et al., 2012:
// biased sampling), p2 (Metwally et al., 2005: click streams), p3 (Géraud et al., 2019:
// quotient hash tables) and p4 (Koloniari et al., 2011: distributed filters). rivals are
// later filters and flowdedup's own at equal memory.
//
// It is a separate module, as its charts need a library that nothing else does: package
// chart draws them, and the charts of bench/peers and hubmodel.
//
// The text.md of a paper's package has the texts and the printed numbers of its tables,
// which the code fills in. RESULTS.md holds a scaled run, RESULTS-full.md runs at the
// printed sizes.
package main
