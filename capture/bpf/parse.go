package bpf

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"golang.org/x/net/bpf"
)

// Parse reads a program for a [Machine] or, if [Check] says so, for a socket, as tcpdump -ddd prints it: a line with the number of
// instructions, then one a line as four decimal numbers: operation, jump if true, jump
// if false, operand. The error wraps [ErrProgram], or is that of r.
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
		case len(program) == MaxLen:
			return nil, fmt.Errorf("%w: more than %d instructions", ErrProgram, MaxLen)
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
