//go:build amd64 && !purego

package asm

// What the instruction sets are called in the names of benchmarks.
var (
	levelNames    = map[int]string{levelGeneric: "generic", levelAVX2: "avx2", levelAVX512: "avx512"}
	aesLevelNames = map[int]string{aesGeneric: "generic", aesNI: "aesni", aesVector: "vaes"}
)
