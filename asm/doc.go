// SPDX-License-Identifier: Apache-2.0

// Package asm has no kernels of its own: it is the index of those below it. A kernel
// takes raw slices, chooses no parameters, keeps no state between calls and does not
// allocate. Each has one exported function, which checks its arguments (the contract),
// one implementation in plain Go, named Generic (the twin), and kernels in assembly that
// equal the twin bit for bit. headers.Tuples.List alone has no twin: where there is no kernel
// it says so, and capture/headers decodes the headers.
//
//	question                                          package           file
//	is an element a copy, was it seen                 asm/line          doc.go has each kind of line
//	what a line looks like                            layout            line.go has the file of each kind
//	the digest of a key or of a packet                asm/digest        aes.go, highway.go
//	where an IPv4 address goes in exact rows          asm/permute       bijection.go
//	the datagrams in a batch of Ethernet frames       asm/headers       datagram.go, tuple.go
//	times, lengths and order of a batch's packets      asm/frames        frames.go
//	what the CPU has, and what is AVX-512 here        asm/internal/cpu  level_amd64.go, level_arm64.go
//	which kernel runs at which level                  each              dispatch_amd64.go, dispatch_arm64.go
//	the same of lines where all look alike            asm/internal/dispatch  table.go
//	what position of a call means                     asm/line          doc.go
//	what tests of kernels share                       asm/internal/kerneltest
//
// The suffix of a file and of its functions is the level: _avx2_amd64.s, _avx512_amd64.s,
// _neon_arm64.s, and _generic.go for the twin. The build tag purego builds the twins
// alone.
package asm

import (
	"github.com/flowdedup/flowdedup/asm/internal/cpu"
)

// Kernels returns the instruction sets that kernels run on here: that of vectors (avx512,
// avx2, neon), and that of AES (vaes, vaes256, aesni, aesarm). The word generic stands for
// plain Go.
func Kernels() (vectors, aes string) { return cpu.Best.String(), cpu.BestAES.String() }
