//go:build arm64 && !purego

package asm

// What the instruction sets are called in the names of benchmarks.
var (
	levelNames    = map[int]string{levelGeneric: "generic"}
	rowLevelNames = map[int]string{rowGeneric: "generic", rowNEON: "neon"}
	aesLevelNames = map[int]string{aesGeneric: "generic", aesNEON: "neon"}
)
