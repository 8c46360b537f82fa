//go:build (!amd64 && !arm64) || purego

package asm

const levelGeneric = 0

// levels returns the instruction sets that kernels of lines are written for.
func levels() []int { return []int{levelGeneric} }
