package bpf

import (
	"errors"
	"fmt"

	"golang.org/x/net/bpf"
)

// ErrProgram is wrapped by what [Parse], [Check] and [NewMachine] return for a program
// that the kernel would refuse.
var ErrProgram = errors.New("not a BPF program")

// Check tells whether Linux would accept the program: it has up to [MaxLen]
// instructions, all of them known; jumps go forward and stay inside; it ends with a
// return; divisors and shifts in the instructions make sense; scratch memory is in
// range, and written before it is read on every path. Time grows with the length.
// Source: bpf_check_classic and check_load_and_stores in net/core/filter.c.
func Check(program []bpf.RawInstruction) error {
	n := len(program)
	if n == 0 || n > MaxLen {
		return fmt.Errorf("%w: %d instructions, from 1 to %d can be", ErrProgram, n, MaxLen)
	}
	for at, ins := range program {
		if fault := faultOf(ins, n-at-1); fault != "" {
			return fmt.Errorf("%w: instruction %d (%d %d %d %d): %s", ErrProgram, at, ins.Op, ins.Jt, ins.Jf, ins.K, fault)
		}
	}
	if program[n-1].Op&classMask != opReturn {
		return fmt.Errorf("%w: it does not end with a return", ErrProgram)
	}
	return checkScratch(program)
}

// checked returns a program that Check accepts.
func checked(program []bpf.RawInstruction) ([]bpf.RawInstruction, error) {
	if err := Check(program); err != nil {
		return nil, err
	}
	return program, nil
}

// faultOf returns what is wrong with an instruction that so many others follow, or "".
func faultOf(ins bpf.RawInstruction, behind int) string {
	_, known := does[ins.Op]
	switch {
	case !known:
		return "not an operation"
	case usesScratch(ins.Op) && ins.K >= scratchWords:
		return "beyond the scratch memory"
	case ins.K == 0 && (ins.Op == opALU|aluDiv || ins.Op == opALU|aluMod):
		return "a division by zero"
	case ins.K >= 32 && (ins.Op == opALU|aluShl || ins.Op == opALU|aluShr):
		return "a shift by more bits than there are"
	case ins.Op == opJump|jumpAlways && uint64(ins.K) >= uint64(behind),
		isBranch(ins.Op) && int(max(ins.Jt, ins.Jf)) >= behind:
		return "a jump beyond the end"
	case isAbsolute(ins.Op) && ins.K >= beside && (ins.K >= besideEnd || ins.K%4 != 0):
		return "no such load"
	}
	return ""
}

func isAbsolute(op uint16) bool {
	return op == opLoad|word|absolute || op == opLoad|halfword|absolute || op == opLoad|octet|absolute
}

// isBranch tells the jumps that have two ways to go.
func isBranch(op uint16) bool { return op&classMask == opJump && op != opJump|jumpAlways }

func usesScratch(op uint16) bool { return isStore(op) || isReload(op) }

func isStore(op uint16) bool { return op == opStore || op == opStoreX }

func isReload(op uint16) bool { return op == opLoad|scratch || op == opLoadX|scratch }

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
			return fmt.Errorf("%w: instruction %d reads scratch memory that was not written", ErrProgram, at)
		}
		for _, next := range followers(at, ins) {
			written[next] &= now
		}
	}
	return nil
}

// followers returns where a program may go on behind an instruction.
func followers(at int, ins bpf.RawInstruction) []int {
	switch {
	case ins.Op&classMask == opReturn:
		return nil
	case ins.Op == opJump|jumpAlways:
		return []int{at + 1 + int(ins.K)}
	case isBranch(ins.Op):
		return []int{at + 1 + int(ins.Jt), at + 1 + int(ins.Jf)}
	}
	return []int{at + 1}
}
