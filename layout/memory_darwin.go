// SPDX-License-Identifier: Apache-2.0

package layout

import "golang.org/x/sys/unix"

// memoryLimit returns how many bytes of memory the machine has.
func memoryLimit() (limit int64, ok bool) {
	n, err := unix.SysctlUint64("hw.memsize")
	return addressable(int64(n)), err == nil && n > 0
}

func systemCaches() (c CacheSizes) { return c }
