// Package stable makes the tables and figures of "Approximately Detecting
// Duplicates for Streaming Data using Stable Bloom Filters" (Deng, Rafiei, SIGMOD
// 2006) anew.
//
// The paper's web crawl is private. Its buffering column tells how many other
// elements lie between repetitions, though, and that is what the streams here are
// drawn from, see crawl. Everything else, the filters' rates among it, follows.
package stable
