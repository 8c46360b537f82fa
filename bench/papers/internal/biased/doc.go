// Package biased makes Tables 1 to 9 of "Advanced Bloom Filter Based Algorithms
// for Efficient Approximate Data De-Duplication in Streams" (Bera, Dutta, Narang,
// Bhattacherjee, 2012) anew.
//
// By default N and memory are the printed ones divided by 64, which keeps every
// rate and only makes its sampling error larger.
package biased
