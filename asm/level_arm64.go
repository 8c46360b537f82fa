//go:build arm64 && !purego

package asm

import "github.com/klauspost/cpuid/v2"

// The instruction sets that kernels of lines are written for.
const (
	levelGeneric = iota
	levelNEON
)

// levels returns the instruction sets that the CPU has, the best last.
func levels() []int {
	if cpuid.CPU.Supports(cpuid.ASIMD) {
		return []int{levelGeneric, levelNEON}
	}
	return []int{levelGeneric}
}
