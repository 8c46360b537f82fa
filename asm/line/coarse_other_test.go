//go:build !amd64 || purego

package line

func coarseAVX512() bool { return false }
