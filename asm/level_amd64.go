//go:build amd64 && !purego

package asm

import "github.com/klauspost/cpuid/v2"

// The instruction sets that kernels of lines are written for, from the plainest
// to the fastest.
const (
	levelGeneric = iota
	levelAVX512
)

// level is the instruction set in use. Tests set it.
var level = func() int {
	all := levels()
	return all[len(all)-1]
}()

// levels returns the instruction sets that the CPU has, the fastest last.
func levels() []int {
	if cpuid.CPU.Supports(cpuid.AVX512F, cpuid.AVX512DQ, cpuid.AVX512BW, cpuid.AVX512VL,
		cpuid.AVX512VPOPCNTDQ, cpuid.BMI1, cpuid.BMI2) {
		return []int{levelGeneric, levelAVX512}
	}
	return []int{levelGeneric}
}
