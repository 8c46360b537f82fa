// SPDX-License-Identifier: Apache-2.0

//go:build arm64 && !purego

package cpu

import "golang.org/x/sys/cpu"

// Levels returns the levels that the CPU has, the best last. Go itself runs only on CPUs with vectors.
func Levels() []Level { return []Level{Generic, NEON} }

// AESLevels returns the levels for AES that the CPU has, the best last.
func AESLevels() []Level {
	all := Levels()
	if cpu.ARM64.HasAES && cpu.ARM64.HasPMULL {
		all = append(all, AESARM)
	}
	return all
}
