// Package distinct makes the keys of packets, counts the distinct ones with
// [multikey.Counter], and makes rows of the counts.
package distinct
