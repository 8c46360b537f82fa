// SPDX-License-Identifier: Apache-2.0

// Package faults makes system calls of the program fail, one in each run. It checks the
// exit code, the message, and the names and bytes of the files that are left.
//
// It is a test that needs Linux and strace. Each call of a clean run fails once with each
// possible error. With -short, or without FLOWDEDUP_FAULTS=all, the test takes a sample
// of these.
package faults
