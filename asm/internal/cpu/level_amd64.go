// SPDX-License-Identifier: Apache-2.0

//go:build amd64 && !purego

package cpu

import "github.com/klauspost/cpuid/v2"

// Levels returns the levels that the CPU has, the best last.
func Levels() []Level {
	all := []Level{Generic}
	if !cpuid.CPU.Supports(cpuid.AVX2, cpuid.BMI1, cpuid.BMI2, cpuid.POPCNT) {
		return all
	}
	all = append(all, AVX2)
	if cpuid.CPU.Supports(cpuid.AVX512F, cpuid.AVX512DQ, cpuid.AVX512BW, cpuid.AVX512VL) {
		all = append(all, AVX512)
	}
	return all
}

// AESLevels returns the levels for AES that the CPU has, the best last.
func AESLevels() []Level {
	all := []Level{Generic}
	if cpuid.CPU.Supports(cpuid.AESNI, cpuid.CLMUL, cpuid.AVX) {
		all = append(all, AESNI)
	}
	if cpuid.CPU.Supports(cpuid.VAES, cpuid.VPCLMULQDQ, cpuid.AESNI, cpuid.CLMUL, cpuid.AVX2) {
		all = append(all, VAES256)
	}
	if cpuid.CPU.Supports(cpuid.VAES, cpuid.VPCLMULQDQ, cpuid.CLMUL, cpuid.AVX512F, cpuid.AVX512DQ, cpuid.AVX512BW, cpuid.AVX512VL, cpuid.BMI2) {
		all = append(all, VAES)
	}
	return all
}

// CountsBits says whether AVX512 can count the bits of vectors (VPOPCNTDQ).
var CountsBits = cpuid.CPU.Supports(cpuid.AVX512VPOPCNTDQ)
