// SPDX-License-Identifier: Apache-2.0

//go:build !linux && !darwin

package layout

// memoryLimit reports false: this system is not asked.
func memoryLimit() (limit int64, ok bool) { return 0, false }

func systemCaches() (c CacheSizes) { return c }
