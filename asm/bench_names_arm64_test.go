//go:build arm64 && !purego

package asm

// What the instruction sets are called in the names of benchmarks.
var (
	levelNames    = map[int]string{levelGeneric: "generic", levelNEON: "neon"}
	aesLevelNames = map[int]string{aesGeneric: "generic", aesNEON: "neon"}
)
