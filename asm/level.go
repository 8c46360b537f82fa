package asm

import "slices"

// level is the instruction set that kernels of lines use, the best one that the CPU
// has. Tests set it. What has no kernel for it uses the next plainer one.
var level = slices.Max(levels())
