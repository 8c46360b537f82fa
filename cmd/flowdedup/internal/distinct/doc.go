// Package distinct counts the distinct keys of a stream in windows of time: it
// wires sources, keys, digests and counters together.
//
// Memory is that of the window that packets fall in; of the next one from when seven
// eighths of the time of this one have passed, up to memoryLimit and as much as this
// one's counters have come to need; and up to memoryLimit of windows that wait for
// packets out of order. What closes is given back in the background. Config.Budget bounds all of it,
// and the past: what does not fit is counted by samples.
package distinct
