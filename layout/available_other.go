// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package layout

func memoryAvailable() (int64, bool) { return memoryLimit() }
