// SPDX-License-Identifier: Apache-2.0

//go:build amd64 && !purego

package line

import "github.com/klauspost/cpuid/v2"

// coarseAVX512 reports whether the CPU has all that the kernel of coarse rows for AVX-512
// needs, and that which fills its batches.
func coarseAVX512() bool {
	return cpuid.CPU.Supports(cpuid.AVX2, cpuid.BMI1, cpuid.BMI2, cpuid.AVX512F, cpuid.AVX512BW, cpuid.AVX512DQ, cpuid.AVX512VL)
}
