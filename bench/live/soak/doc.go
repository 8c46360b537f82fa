//go:build linux

// Command soak runs flowdedup live for long, with outputs of all kinds at half load,
// while things go wrong around it:
//
//	soak [-duration 30m] [-rate 500000]
//
// In the course of a run the captured interface goes down and up, is removed and made
// again, renamed and named back; the outputs' disk gets full and is freed; and the
// process is killed and started again from its state. Every seven seconds soak prints what
// the process shows of itself under /metrics. At last it looks for growth of memory,
// goroutines and open files, for drops when nothing was wrong, and for complete files
// that cannot be read; whatever is off is named, and the exit code is 1. Growth takes some
// minutes to be told.
//
// It needs root, and flowdedup on the PATH. Everything happens in network and mount
// namespaces of its own.
package main
