package bpf

import (
	"errors"
	"fmt"

	"golang.org/x/net/bpf"
)

// ErrProgram is wrapped by what [Parse] and [NewMachine] return for what no machine can
// run.
var ErrProgram = errors.New("not a BPF program")

// check tells whether a [Machine] can run the program: it has up to [MaxLen]
// instructions, all of them known; jumps stay inside; it ends with a return; divisors
// and shifts in the instructions make sense; scratch memory is in range. Jumps that
// have one way to go may go back, as those of protochain do.
// Source: pcapint_validate_filter of libpcap's bpf_filter.c.
func check(program []bpf.RawInstruction) error {
	n := len(program)
	if n == 0 || n > MaxLen {
		return fmt.Errorf("%w: %d instructions, from 1 to %d can be", ErrProgram, n, MaxLen)
	}
	for at, ins := range program {
		if fault := faultOf(ins, at, n); fault != "" {
			return faulty(ErrProgram, at, ins, fault)
		}
	}
	if program[n-1].Op&classMask != opReturn {
		return fmt.Errorf("%w: it does not end with a return", ErrProgram)
	}
	return nil
}

// faulty says what is wrong with an instruction.
func faulty(kind error, at int, ins bpf.RawInstruction, fault string) error {
	return fmt.Errorf("%w: instruction %d (%d %d %d %d): %s", kind, at, ins.Op, ins.Jt, ins.Jf, ins.K, fault)
}

// faultOf returns what is wrong with an instruction of a program of n, or "".
func faultOf(ins bpf.RawInstruction, at, n int) string {
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
	}
	for _, next := range followers(at, ins) {
		if next < 0 || next >= n && !isStraight(ins.Op) {
			return "a jump beyond the end"
		}
	}
	return ""
}

// isStraight tells what goes on with the next instruction, of which there is one as the
// last is a return.
func isStraight(op uint16) bool { return op&classMask != opJump }

// isBranch tells the jumps that have two ways to go.
func isBranch(op uint16) bool { return op&classMask == opJump && op != opJump|jumpAlways }

func usesScratch(op uint16) bool { return isStore(op) || isReload(op) }

func isStore(op uint16) bool { return op == opStore || op == opStoreX }

func isReload(op uint16) bool { return op == opLoad|scratch || op == opLoadX|scratch }

// followers returns where a program may go on behind an instruction.
func followers(at int, ins bpf.RawInstruction) []int {
	switch {
	case ins.Op&classMask == opReturn:
		return nil
	case ins.Op == opJump|jumpAlways:
		return []int{at + 1 + int(int32(ins.K))}
	case isBranch(ins.Op):
		return []int{at + 1 + int(ins.Jt), at + 1 + int(ins.Jf)}
	}
	return []int{at + 1}
}
