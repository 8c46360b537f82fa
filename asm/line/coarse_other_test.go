// SPDX-License-Identifier: Apache-2.0

//go:build !amd64 || purego

package line

func coarseAVX512() bool { return false }
