// Package distinct counts the distinct keys of a stream in windows of time: it
// wires sources, keys, digests and counters together.
package distinct
