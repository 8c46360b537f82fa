//go:build !amd64 || purego

package asm

// splitExactVectors reports that there is no kernel: it lives of instructions that
// compress a register.
func splitExactVectors(_, _ [][8]uint64, _, _ uint) bool { return false }
