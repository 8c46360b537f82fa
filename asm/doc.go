// SPDX-License-Identifier: Apache-2.0

// Package asm has no kernels itself: it is the index of the packages below it. A kernel
// takes raw slices, chooses no parameters, keeps no state between calls and does not
// allocate. Each has one exported function, which checks its arguments (the contract),
// one implementation in plain Go, named Generic (the twin), and kernels in assembly that
// equal the twin bit for bit.
//
//	question                                          package           file
//	is an element a copy, was it seen                 asm/line          doc.go has each kind of line
//	layout of a line                                  layout            line.go has the file of each kind
//	the digest of a key or of a packet                asm/digest        aes.go, highway.go
//	where an IPv4 address goes in exact rows          asm/permute       bijection.go
//	the datagrams in a batch of Ethernet frames       asm/headers       datagram.go, tuple.go
//	times, lengths and order of a batch's packets      asm/frames        frames.go
//	where fields and lines of text end                asm/signs         signs.go
//	features of the CPU, and the meaning of AVX-512   asm/internal/cpu  level_amd64.go, level_arm64.go
//	which kernel runs at which level                  each              dispatch_amd64.go, dispatch_arm64.go
//	the same for lines, where most look alike         asm/line          levels_amd64.go, levels_arm64.go
//	meaning of a call's position                      asm/line          doc.go
//	common code of kernels' tests                     asm/internal/kerneltest
//
//	kernels                                                      AVX-512               AVX2            arm64
//	digest.AES, permute.Bijection                                yes                   yes             NEON; AES by tables, too
//	digest.Highway                                               the library's         the library's   NEON
//	line                                                         not cells, sliding    not exact rows  not exact rows, homes
//	headers.FindDatagrams, headers.OpenTunnels                   eight frames at once  four            one
//	headers.Whole.Count                                          eight frames at once  one             one
//	headers.Tuples.List, headers.Ends.Hash, frames.Place.Points  yes                   Go              Go
//	signs.Find, frames.Sum, frames.Within                        as AVX2               yes             yes
//	frames.Messages, frames.Records.Walk                         as AVX2               yes             Go
//
// The suffix of a file and of its functions is the level: _avx2_amd64.s, _avx512_amd64.s,
// _neon_arm64.s, and _generic.go for the twin. The build tag purego builds only the
// twins.
package asm

import (
	"github.com/flowdedup/flowdedup/asm/internal/cpu"
)

// Kernels returns the instruction sets that kernels run on here: for vectors (avx512,
// avx2, neon), and for AES (vaes, vaes256, aesni, aesarm; neon without AES instructions). The word
// generic stands for plain Go.
func Kernels() (vectors, aes string) { return cpu.Best.String(), cpu.BestAES.String() }

// HighwayIsFaster reports whether this CPU takes longer for digests by AES than by HighwayHash: it
// has vectors, but no AES instructions.
func HighwayIsFaster() bool { return cpu.Best != cpu.Generic && cpu.BestAES <= cpu.NEON }
