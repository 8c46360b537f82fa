//go:build !amd64 || purego

package asm

const levelGeneric = 0

// level is the instruction set in use.
var level = levelGeneric

// levels returns the instruction sets that kernels of lines are written for.
func levels() []int { return []int{levelGeneric} }
