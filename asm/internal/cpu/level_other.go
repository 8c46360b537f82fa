// SPDX-License-Identifier: Apache-2.0

//go:build (!amd64 && !arm64) || purego

package cpu

// Levels returns the levels that the CPU has: only plain Go.
func Levels() []Level { return []Level{Generic} }

// AESLevels returns the levels for AES that the CPU has: only plain Go.
func AESLevels() []Level { return []Level{Generic} }
