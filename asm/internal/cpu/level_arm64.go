// SPDX-License-Identifier: Apache-2.0

//go:build arm64 && !purego

package cpu

import "github.com/klauspost/cpuid/v2"

// Levels returns the levels that the CPU has, the best last.
func Levels() []Level {
	if cpuid.CPU.Supports(cpuid.ASIMD) {
		return []Level{Generic, NEON}
	}
	return []Level{Generic}
}

// AESLevels returns the levels for AES that the CPU has, the best last.
func AESLevels() []Level {
	all := Levels()
	if cpuid.CPU.Supports(cpuid.AESARM, cpuid.PMULL, cpuid.ASIMD) {
		all = append(all, AESARM)
	}
	return all
}
