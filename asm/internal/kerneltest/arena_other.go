// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package kerneltest

import "testing"

// Lines returns lines of zeros, kib KiB in all.
func Lines(_ *testing.B, kib int) [][8]uint64 { return make([][8]uint64, kib<<10/64) }
