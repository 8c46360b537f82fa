// Package biased reproduces Tables 1 to 9 of "Advanced Bloom Filter Based Algorithms for
// Efficient Approximate Data De-Duplication in Streams" (Bera, Dutta, Narang,
// Bhattacherjee, 2012).
//
// By default N and memory are the printed ones divided by 64. This keeps every rate but
// raises its sampling error.
package biased
