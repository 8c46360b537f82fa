//go:build !linux

package asm

import "testing"

// benchLines returns n lines of zeros.
func benchLines(_ *testing.B, n int) [][8]uint64 { return make([][8]uint64, n) }
