// SPDX-License-Identifier: Apache-2.0

//go:build (!amd64 && !arm64) || purego

package frames

// sumVectors leaves all frames to its caller.
func sumVectors([]int64, []Frame, int64, *Sums) (done int) { return 0 }
