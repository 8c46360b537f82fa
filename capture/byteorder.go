package capture

import (
	"encoding/binary"
	"math/bits"
)

var le = binary.LittleEndian

// order16 reads an integer in the byte order of its section.
func order16(p []byte, big bool) uint16 {
	if big {
		return bits.ReverseBytes16(le.Uint16(p))
	}
	return le.Uint16(p)
}

// order32 reads an integer in the byte order of its section.
func order32(p []byte, big bool) uint32 {
	if big {
		return bits.ReverseBytes32(le.Uint32(p))
	}
	return le.Uint32(p)
}
