// SPDX-License-Identifier: Apache-2.0

//go:build !amd64 || purego

package layout

// cpuCaches is empty: only the system knows.
func cpuCaches() (c CacheSizes) { return c }
