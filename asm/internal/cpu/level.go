// SPDX-License-Identifier: Apache-2.0

// Package cpu says which instruction sets kernels can use on this machine.
package cpu

import "slices"

// Level is an instruction set that kernels are written for.
type Level int

// Kernels of lines, HighwayHash, the permutation and the headers of frames exist for the first
// four levels, kernels of AES for Generic, NEON and the last four. Some of asm/headers and
// asm/frames are for AVX512 alone: their dispatch says so.
const (
	Generic Level = iota // plain Go
	AVX2                 // AVX2, BMI1, BMI2, POPCNT
	AVX512               // AVX-512 F, DQ, BW, VL; some kernels also VPOPCNTDQ
	NEON                 // arm64's vectors
	AESNI                // AES-NI, PCLMULQDQ and AVX: a block at a time
	VAES256              // AES and PCLMULQDQ on registers of 256 bits, AVX2, and the features of AESNI
	VAES                 // AES and PCLMULQDQ on registers of 512 bits, and the features of AESNI
	AESARM               // AES instructions and PMULL of arm64
)

// String returns the name that benchmarks show.
func (l Level) String() string {
	return [...]string{"generic", "avx2", "avx512", "neon", "aesni", "vaes256", "vaes", "aesarm"}[l]
}

// Best is the level that kernels run at: the best level of the CPU. A function without a
// kernel for it runs the next plainer kernel. Only tests change it.
var Best = slices.Max(Levels())

// BestAES is the best level for AES that the CPU has.
var BestAES = slices.Max(AESLevels())
