// Package quotient makes the tables of "Quotient Hash Tables - Efficiently Detecting
// Duplicates in Streaming Data" (Géraud, Lombard-Platet, Naccache, SAC 2019) anew, on
// its artificial streams.
//
// The paper says little of the filters that it compares its own with, and three
// columns (stable Bloom filter, A2, b_DBF) are far from what these filters do. What they
// come from is in the program of a later paper of two of the authors
// (github.com/mariuslp/duplicate_sliding_benchmark), which its README says was
// taken over in many parts from this paper's own. The columns are made here with the
// readings found there, faults included, and next to them without the faults.
package quotient
