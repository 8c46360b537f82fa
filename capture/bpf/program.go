// SPDX-License-Identifier: Apache-2.0

package bpf

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"golang.org/x/net/bpf"
)

// Parse reads a program as tcpdump -ddd prints it: a line with the number of instructions, then a
// line for each with four decimal numbers: operation, jump if true, jump if false, operand. The
// error wraps [ErrProgram], or comes from r.
func Parse(r io.Reader) ([]bpf.RawInstruction, error) {
	lines := bufio.NewScanner(r)
	var program []bpf.RawInstruction
	n, at := 0, 0
	for lines.Scan() {
		at++
		text := strings.TrimSpace(lines.Text())
		switch {
		case at == 1:
			var err error
			if n, err = strconv.Atoi(text); err != nil {
				return nil, fmt.Errorf("%w: line 1 is not a number of instructions, as tcpdump -ddd prints it", ErrProgram)
			}
		case text == "":
		case len(program) == maxLen:
			return nil, fmt.Errorf("%w: more than %d instructions", ErrProgram, maxLen)
		default:
			ins, ok := parseInstruction(text)
			if !ok {
				return nil, fmt.Errorf("%w: line %d is not an instruction, as tcpdump -ddd prints it", ErrProgram, at)
			}
			program = append(program, ins)
		}
	}
	switch err := lines.Err(); {
	case err == bufio.ErrTooLong:
		return nil, fmt.Errorf("%w: line %d is too long", ErrProgram, at+1)
	case err != nil:
		return nil, err
	case n != len(program):
		return nil, fmt.Errorf("%w: %d instructions, where line 1 says %d", ErrProgram, len(program), n)
	}
	if err := check(program); err != nil {
		return nil, err
	}
	return program, nil
}

// parseInstruction reads "op jt jf k".
func parseInstruction(line string) (ins bpf.RawInstruction, ok bool) {
	fields := strings.Fields(line)
	if len(fields) != 4 {
		return ins, false
	}
	var numbers [4]uint64
	for i, bits := range [4]int{16, 8, 8, 32} {
		n, err := strconv.ParseUint(fields[i], 10, bits)
		if err != nil {
			return ins, false
		}
		numbers[i] = n
	}
	return bpf.RawInstruction{
		Op: uint16(numbers[0]), Jt: uint8(numbers[1]), Jf: uint8(numbers[2]), K: uint32(numbers[3]),
	}, true
}

// ErrProgram is wrapped by the errors of [Parse] and [NewMachine] for a program that
// cannot run.
var ErrProgram = errors.New("not a BPF program")

// check returns an error if a [Machine] cannot run the program. A program has up to maxLen
// known instructions, and ends with a return. Jumps stay inside; unconditional jumps may go
// back, as in protochain. Constant divisors are not 0, constant shifts are below 32, and
// scratch memory is in range. Source: pcapint_validate_filter of libpcap's bpf_filter.c.
func check(program []bpf.RawInstruction) error {
	n := len(program)
	if n == 0 || n > maxLen {
		return fmt.Errorf("%w: %d instructions, from 1 to %d can be", ErrProgram, n, maxLen)
	}
	for at, ins := range program {
		if fault := faultOf(ins, at, n); fault != "" {
			return fmt.Errorf("%w: instruction %d (%d %d %d %d): %s", ErrProgram, at, ins.Op, ins.Jt, ins.Jf, ins.K, fault)
		}
	}
	if program[n-1].Op&classMask != opReturn {
		return fmt.Errorf("%w: it does not end with a return", ErrProgram)
	}
	return nil
}

// faultOf describes the fault of an instruction in a program of n instructions, or returns "".
func faultOf(ins bpf.RawInstruction, at, n int) string {
	_, known := operations[ins.Op]
	switch {
	case !known:
		return "not an operation"
	case usesMemory(ins.Op) && ins.K >= memoryWords:
		return "beyond the scratch memory"
	case ins.K == 0 && (ins.Op == opALU|aluDiv || ins.Op == opALU|aluMod):
		return "a division by zero"
	case ins.K >= 32 && (ins.Op == opALU|aluShl || ins.Op == opALU|aluShr):
		return "a shift by more bits than there are"
	}
	for _, next := range successors(at, ins) {
		// check reports a last instruction that is neither a jump nor a return.
		if next < 0 || next >= n && ins.Op&classMask == opJump {
			return "a jump beyond the end"
		}
	}
	return ""
}

// isBranch reports whether an instruction is a conditional jump.
func isBranch(op uint16) bool { return op&classMask == opJump && op != opJump|jumpAlways }

func usesMemory(op uint16) bool {
	return op == opStore || op == opStoreX || op == opLoad|memoryMode || op == opLoadX|memoryMode
}

// successors returns the numbers of the instructions that may follow instruction at.
func successors(at int, ins bpf.RawInstruction) []int {
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

// Operation codes of classic BPF (linux/bpf_common.h): a class, and its operands.
const (
	classMask = 0x07

	opLoad     = 0x00 // classes
	opLoadX    = 0x01
	opStore    = 0x02
	opStoreX   = 0x03
	opALU      = 0x04
	opJump     = 0x05
	opReturn   = 0x06
	opTransfer = 0x07

	word     = 0x00 // sizes of loads
	halfword = 0x08
	octet    = 0x10

	constant   = 0x00 // modes of loads
	absolute   = 0x20
	indirect   = 0x40
	memoryMode = 0x60
	wireLength = 0x80
	nibble     = 0xA0 // four times the low half of an octet: an IPv4 header's length

	byX = 0x08 // source of the second operand; else it is in the instruction

	aluAdd = 0x00
	aluSub = 0x10
	aluMul = 0x20
	aluDiv = 0x30
	aluOr  = 0x40
	aluAnd = 0x50
	aluShl = 0x60
	aluShr = 0x70
	aluNeg = 0x80
	aluMod = 0x90
	aluXor = 0xA0

	jumpAlways  = 0x00
	jumpEqual   = 0x10
	jumpGreater = 0x20
	jumpAtLeast = 0x30
	jumpAnyBit  = 0x40

	returnA = 0x10

	toX   = 0x00
	fromX = 0x80
)

// maxLen is the most instructions of a program.
const maxLen = 1<<16 - 1

// memoryWords is how many words of memory a program has (BPF_MEMWORDS).
const memoryWords = 16
