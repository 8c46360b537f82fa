// Package quotient reproduces the tables of "Quotient Hash Tables - Efficiently Detecting
// Duplicates in Streaming Data" (Géraud, Lombard-Platet, Naccache, SAC 2019) on its
// artificial streams.
//
// The paper says little about the filters that it compares its own with, and three
// columns (stable Bloom filter, A2, b_DBF) are far from what these filters do. The cause
// is in the program of a later paper by two of the authors
// (github.com/mariuslp/duplicate_sliding_benchmark). Its README says that many parts come
// from this paper's own program. The columns are made here as that program does it,
// faults included, and beside them without the faults.
package quotient
