// SPDX-License-Identifier: Apache-2.0

// Package bodiless has functions with and without assembly.
package bodiless

// Add is plain Go.
func Add(x, y uint64) uint64 { return x + y }

func forgotten(x uint64) uint64 // want "forgotten has neither a body nor assembly"
