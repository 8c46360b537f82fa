// SPDX-License-Identifier: Apache-2.0

//go:build !purego

package layout

// CPUID executes the instruction CPUID. A hypervisor takes microseconds to answer.
func CPUID(leaf, subleaf uint32) (eax, ebx, ecx, edx uint32)

// cpuCaches reads the list of caches of the CPU: leaf 4 of Intel, 0x8000001d of AMD. Both have
// the same form ("Deterministic Cache Parameters", Intel SDM 2A; AMD APM 3, appendix E.4.15).
func cpuCaches() (c CacheSizes) {
	leaf := uint32(4)
	if last, _, _, _ := CPUID(0x80000000, 0); last >= 0x8000001d {
		leaf = 0x8000001d // Intel has no leaf as high
	}
	for i := range uint32(16) { // a hypervisor may have a list without an end
		eax, ebx, sets, _ := CPUID(leaf, i)
		const none, instructions = 0, 2
		kind, level := eax&0x1f, eax>>5&7
		if kind == none {
			break
		}
		ways, partitions, line := ebx>>22+1, ebx>>12&0x3ff+1, ebx&0xfff+1
		if size := c.of(int(level)); size != nil && kind != instructions {
			*size = int(ways*partitions*line) * int(sets+1)
		}
	}
	return c
}
