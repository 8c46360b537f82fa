//go:build !linux

package asm

import "testing"

// benchArena returns lines of zeros.
func benchArena(_ *testing.B, kib int) [][8]uint64 { return make([][8]uint64, kib<<10/64) }
