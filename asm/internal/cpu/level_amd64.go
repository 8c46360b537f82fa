// SPDX-License-Identifier: Apache-2.0

//go:build amd64 && !purego

package cpu

import (
	"golang.org/x/sys/cpu"

	"github.com/flowdedup/flowdedup/layout"
)

// Levels returns the levels that the CPU has, the best last.
func Levels() []Level {
	all := []Level{Generic}
	if x := &cpu.X86; !x.HasAVX2 || !x.HasBMI1 || !x.HasBMI2 || !x.HasPOPCNT {
		return all
	}
	all = append(all, AVX2)
	if hasAVX512() {
		all = append(all, AVX512)
	}
	return all
}

func hasAVX512() bool {
	x := &cpu.X86
	return x.HasAVX512F && x.HasAVX512DQ && x.HasAVX512BW && x.HasAVX512VL
}

// AESLevels returns the levels for AES that the CPU has, the best last. Package cpu has VAES and
// VPCLMULQDQ only beside AVX-512, but some CPUs with AVX2 have them (Intel SDM 2A, CPUID leaf 7).
func AESLevels() []Level {
	const vectors = 1<<9 | 1<<10
	all, x := []Level{Generic}, &cpu.X86
	if !x.HasAES || !x.HasPCLMULQDQ || !x.HasAVX {
		return all
	}
	if all = append(all, AESNI); !x.HasAVX2 {
		return all
	}
	if _, _, ecx, _ := layout.CPUID(7, 0); ecx&vectors != vectors {
		return all
	}
	if all = append(all, VAES256); hasAVX512() && x.HasBMI2 {
		all = append(all, VAES)
	}
	return all
}

// CountsBits says whether AVX512 can count the bits of vectors (VPOPCNTDQ).
var CountsBits = cpu.X86.HasAVX512VPOPCNTDQ
