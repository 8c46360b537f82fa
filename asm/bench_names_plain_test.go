//go:build (!amd64 && !arm64) || purego

package asm

// What the only implementation is called in the names of benchmarks.
var (
	levelNames    = map[int]string{levelGeneric: "generic"}
	aesLevelNames = map[int]string{aesGeneric: "generic"}
)
