// SPDX-License-Identifier: Apache-2.0

package asm

import "github.com/flowdedup/flowdedup/asm/internal/cpu"

// Kernels returns the instruction sets that kernels run on here: that of vectors (avx512,
// avx2, neon), and that of AES (vaes, vaes256, aesni, aesarm). The word generic stands for
// plain Go.
func Kernels() (vectors, aes string) { return cpu.Best.String(), cpu.BestAES.String() }
