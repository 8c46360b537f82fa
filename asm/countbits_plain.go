//go:build (!amd64 && !arm64) || purego

package asm

func countCells(lines [][8]uint64, width int) uint64 { return countCellsGeneric(lines, width) }
