//go:build !amd64 || purego

package asm

// splitExact16Vectors reports that there is no kernel: it lives of instructions that
// compress a register.
func splitExact16Vectors(_, _ [][8]uint64, _ uint) bool { return false }
