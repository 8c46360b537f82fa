// Package input opens the captures that a command line names and hands them
// on as one stream of batches.
//
// Reading runs on a goroutine of its own, a few batches ahead: a pipe that
// stays silent never keeps a signal from being answered, and the next chunk is
// read or decompressed while the last one is worked on.
package input
