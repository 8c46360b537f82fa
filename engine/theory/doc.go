// SPDX-License-Identifier: Apache-2.0

// Package theory holds closed forms and recurrences of the duplicate detection literature that programs
// and several packages need: error rates, stable points and best parameters of filters. Package sizing
// plans with them, and tests hold measured rates against them. [Population] has no closed
// form, and is a simulation. The package builds no filters: these are in package engine, and the
// papers' own in engine/paper. Forms that only the papers' filters and tables need are in bench/papers.
//
// The papers are cited by their short names:
//
//   - DR06: Deng, Rafiei, Approximately Detecting Duplicates for Streaming Data
//     using Stable Bloom Filters, SIGMOD 2006.
//   - BDNB12: Bera, Dutta, Narang, Bhattacherjee, Advanced Bloom Filter Based
//     Algorithms for Efficient Approximate Data De-Duplication in Streams, 2012.
//   - MAE05: Metwally, Agrawal, El Abbadi, Duplicate Detection in Click Streams,
//     2005.
//   - GLN19: Géraud, Lombard-Platet, Naccache, Quotient Hash Tables - Efficiently
//     Detecting Duplicates in Streaming Data, 2019.
//   - KNPS: Koloniari, Ntarmos, Pitoura, Souravlias, One is Enough: Distributed
//     Filtering for Duplicate Elimination.
//
// All functions are pure. Rates and probabilities are shares of 1. An argument outside of
// a function's domain, such as NaN, gives an error that wraps [ErrDomain]. Where a paper
// is misprinted, the function's documentation states the corrected formula and the
// reason.
package theory
