//go:build amd64 && !purego

package asm

import "github.com/klauspost/cpuid/v2"

// The instruction sets that kernels of lines are written for, from the plainest
// to the best.
const (
	levelGeneric = iota
	levelAVX2
	levelAVX512
)

// levels returns the instruction sets that the CPU has, the best last.
func levels() []int {
	all := []int{levelGeneric}
	if !cpuid.CPU.Supports(cpuid.AVX2, cpuid.BMI1, cpuid.BMI2, cpuid.POPCNT) {
		return all
	}
	all = append(all, levelAVX2)
	if cpuid.CPU.Supports(cpuid.AVX512F, cpuid.AVX512DQ, cpuid.AVX512BW, cpuid.AVX512VL, cpuid.AVX512VBMI2, cpuid.AVX512VPOPCNTDQ) {
		all = append(all, levelAVX512)
	}
	return all
}
