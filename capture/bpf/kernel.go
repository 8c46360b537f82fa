package bpf

import (
	"errors"
	"fmt"

	"golang.org/x/net/bpf"
)

// ErrKernel is wrapped by what [Check] returns for a program that only a [Machine] runs.
var ErrKernel = errors.New("not a filter for the kernel")

// kernelLen is the most instructions of a program in Linux (BPF_MAXINSNS).
const kernelLen = 4096

// Check tells whether Linux would attach the program to a socket. It wants more than a
// [Machine] does: up to 4096 instructions; jumps that only go forward, so that
// protochain has to be left to files; scratch memory that is written before it is read
// on every path; and no loads from behind the longest packet but those of what the
// kernel knows beside. The error wraps [ErrKernel], or [ErrProgram] for what is wrong
// anyway. Time grows with the length.
// Source: bpf_check_classic and check_load_and_stores in net/core/filter.c.
func Check(program []bpf.RawInstruction) error {
	if err := check(program); err != nil {
		return err
	}
	if len(program) > kernelLen {
		return fmt.Errorf("%w: %d instructions, up to %d can be", ErrKernel, len(program), kernelLen)
	}
	for at, ins := range program {
		switch {
		case ins.Op == opJump|jumpAlways && int32(ins.K) < 0:
			return faulty(ErrKernel, at, ins, "a jump back, which only files can be filtered with")
		case isAbsolute(ins.Op) && ins.K >= beside && (ins.K >= besideEnd || ins.K%4 != 0):
			return faulty(ErrKernel, at, ins, "no such load")
		}
	}
	return checkScratch(program)
}

func isAbsolute(op uint16) bool {
	return op == opLoad|word|absolute || op == opLoad|halfword|absolute || op == opLoad|octet|absolute
}

// checkScratch follows which words of scratch memory are written on all ways to an
// instruction. Jumps go forward, so one pass meets every way.
func checkScratch(program []bpf.RawInstruction) error {
	written := make([]uint16, len(program)) // a bit for each word
	for i := range written {
		written[i] = 1<<scratchWords - 1
	}
	written[0] = 0
	for at, ins := range program {
		now := written[at]
		switch {
		case isStore(ins.Op):
			now |= 1 << ins.K
		case isReload(ins.Op) && now>>ins.K&1 == 0:
			return faulty(ErrKernel, at, ins, "it reads scratch memory that was not written")
		}
		for _, next := range followers(at, ins) {
			written[next] &= now
		}
	}
	return nil
}
