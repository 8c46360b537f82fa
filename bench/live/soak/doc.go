// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Command soak runs flowdedup live for a long time, with outputs of all kinds at half
// load, while faults happen around it:
//
//	soak [-duration 30m] [-rate 500000] [-steady]
//
// During a run the captured interface goes down and up, is removed and made again, and is
// renamed and named back. The disk of the outputs fills up and is freed. The process is
// killed and started again from its state. Every seven seconds soak prints the metrics
// that the process shows under /metrics. In the end it checks for growth of memory,
// goroutines and open files, for drops without a fault, and for complete files that
// cannot be read. It names the problems, and the exit code is 1. Detecting growth takes
// some minutes.
//
// With -steady nothing happens around the process, and XDP sends the frames, so that the
// rate may be a million. In the end every frame that was sent has been written, was a
// copy, or was dropped and counted by the kernel, and none was written twice.
//
// It needs root, and flowdedup on the PATH. It works in network and mount namespaces of
// its own.
package main
