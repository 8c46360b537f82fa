// Package stable reproduces the tables and figures of "Approximately Detecting Duplicates
// for Streaming Data using Stable Bloom Filters" (Deng, Rafiei, SIGMOD 2006).
//
// The paper's web crawl is private. But its buffering column says how many other elements
// lie between repetitions, and the streams here are drawn from it; see crawl. Everything
// else, such as the filters' rates, follows.
package stable
