//go:build amd64 && !purego

package asm

// splitExactVectors does what SplitExact does for cells that keep their width, or reports
// that there is no kernel for it.
func splitExactVectors(dst, src [][8]uint64, width, rest uint) bool {
	switch {
	case level != levelAVX512:
		return false
	case len(src) == 0:
	case width == 16:
		splitExact16AVX512(&dst[0], &src[0], len(src), rest)
	default:
		splitExact32AVX512(&dst[0], &src[0], len(src), rest)
	}
	return true
}

//go:noescape
func splitExact16AVX512(dst, src *[8]uint64, lines int, rest uint)

//go:noescape
func splitExact32AVX512(dst, src *[8]uint64, lines int, rest uint)
