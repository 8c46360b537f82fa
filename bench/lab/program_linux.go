package lab

// instruction encodes one of eBPF.
func instruction(code, dst, src uint8, offset int16, value int32) uint64 {
	return uint64(code) | uint64(dst)<<8 | uint64(src)<<12 | uint64(uint16(offset))<<16 | uint64(uint32(value))<<32
}

// Codes of instructions.
const (
	load32, load64, loadImmediate      = 0x61, 0x79, 0x18
	store8, store16, store64           = 0x73, 0x6B, 0x7B
	move, set, add, and, modulo, shift = 0xBF, 0xB7, 0x07, 0x57, 0x97, 0x77
	multiply32                         = 0x24
	unless, below, above, call, exit   = 0x55, 0xA5, 0x2D, 0x85, 0x95
)

// program makes each frame the next one of the traffic, as Renumber does, and passes
// it on. The counter lies in a map. Register 6 is the frame, 1 the counter, 2 the
// number, 0 and 3 are for everything else.
func program(counter int) []uint64 {
	const (
		mapValue                           = 2 // BPF_PSEUDO_MAP_VALUE
		pass                               = 2 // XDP_PASS
		context, frame, end, count, number = 1, 6, 7, 1, 2
		result, scratch, data, dataEnd     = 0, 3, 0, 4 // of struct xdp_md, the last two
	)
	return []uint64{
		instruction(load32, frame, context, data, 0),
		instruction(load32, end, context, dataEnd, 0),
		instruction(move, scratch, frame, 0, 0),
		instruction(add, scratch, 0, 0, MinFrame),
		instruction(above, scratch, end, 18, 0), // to the last but one
		instruction(loadImmediate, count, mapValue, 0, int32(counter)),
		instruction(0, 0, 0, 0, 0),
		instruction(load64, number, count, 0, 0),
		instruction(move, scratch, number, 0, 0),
		instruction(add, scratch, 0, 0, 1),
		instruction(store64, count, scratch, 0, 0),
		instruction(move, scratch, number, 0, 0),
		instruction(modulo, scratch, 0, 0, RepeatEvery),
		instruction(unless, scratch, 0, 2, RepeatEvery-1),
		instruction(below, number, 0, 1, repeatBehind),
		instruction(add, number, 0, 0, -repeatBehind),
		instruction(store64, frame, number, numberAt, 0),
		instruction(multiply32, number, 0, 0, scatter),
		instruction(store16, frame, number, sourceAt, 0),
		instruction(store8, frame, number, destinationAt, 0),
		instruction(shift, number, 0, 0, 16),
		instruction(and, number, 0, 0, Flows/Sources-1),
		instruction(store8, frame, number, portAt, 0),
		instruction(set, result, 0, 0, pass),
		instruction(exit, 0, 0, 0, 0),
	}
}
