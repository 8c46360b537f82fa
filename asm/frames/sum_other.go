// SPDX-License-Identifier: Apache-2.0

//go:build (!amd64 && !arm64) || purego

package frames

// sumVectors leaves all frames to its caller.
func sumVectors([]int64, []Frame, int64, *Sums) (done int) { return 0 }

// withinVectors leaves all times to its caller.
func withinVectors([]int64, int64, int64) (done int, within bool) { return 0, true }
