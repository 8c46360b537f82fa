// SPDX-License-Identifier: Apache-2.0

//go:build (!amd64 && !arm64) || purego

package signs

// findVectors leaves all blocks to its caller.
func findVectors([]Block, []byte, byte, byte) (done int) { return 0 }
