//go:build amd64 && !purego

package asm

// splitExact16Vectors does what SplitExact does for cells of 16 bits, or reports that there is
// no kernel for it.
func splitExact16Vectors(dst, src [][8]uint64, rest uint) bool {
	if level != levelAVX512 {
		return false
	}
	if len(src) > 0 {
		splitExact16AVX512(&dst[0], &src[0], len(src), rest)
	}
	return true
}

//go:noescape
func splitExact16AVX512(dst, src *[8]uint64, lines int, rest uint)
