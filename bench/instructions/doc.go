// SPDX-License-Identifier: Apache-2.0

// Package instructions counts the instructions that the program executes for a packet, where no
// kernel for AVX-512 runs: on arm64, and on amd64 with AVX2. A count needs no such
// machine: qemu-user runs the program, and its plugin testdata/counter.c counts.
//
// It is a test that needs FLOWDEDUP_INSTRUCTIONS=all, Linux, qemu-user and a C compiler.
package instructions
