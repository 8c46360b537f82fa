// Package faults lets system calls of the program fail, one in each run, and judges what
// is left: the exit code, the message, the names and the bytes of files.
//
// It is a test that needs Linux and strace. Each call of a clean run is made to fail with
// each error that it may have; with -short, or without FLOWDEDUP_FAULTS=all, a sample of
// them.
package faults
