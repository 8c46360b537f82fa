//go:build amd64 && !purego

package asm

// What the instruction sets are called in the names of benchmarks.
var (
	levelNames    = map[int]string{levelGeneric: "generic", levelAVX512: "avx512"}
	rowLevelNames = map[int]string{rowGeneric: "generic", rowAVX2: "avx2", rowAVX512: "avx512"}
	aesLevelNames = map[int]string{aesGeneric: "generic", aesNI: "aesni", aesVector: "vaes"}
)
