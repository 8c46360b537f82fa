package bpf

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"golang.org/x/net/bpf"
)

// TestRun has what other machines do not tell: the length on the wire, an operation
// that one of them lacks, and how loads behave whose place is far out.
func TestRun(t *testing.T) {
	frame := []byte{0, 1, 2, 3, 4, 5, 6, 0xF7}
	returnA := bpf.RawInstruction{Op: opReturn | returnA}
	set := func(k uint32) bpf.RawInstruction { return bpf.RawInstruction{Op: opLoad | constant, K: k} }
	setX := func(k uint32) bpf.RawInstruction { return bpf.RawInstruction{Op: opLoadX | constant, K: k} }
	one := func(op uint16, k uint32) bpf.RawInstruction { return bpf.RawInstruction{Op: op, K: k} }
	for name, c := range map[string]struct {
		program []bpf.RawInstruction
		want    uint32
	}{
		"wire length":            {[]bpf.RawInstruction{one(opLoad|wireLength, 0), returnA}, 1500},
		"wire length in X":       {[]bpf.RawInstruction{one(opLoadX|wireLength, 0), one(opTransfer|fromX, 0), returnA}, 1500},
		"negative":               {[]bpf.RawInstruction{set(1), one(opALU|aluNeg, 0), returnA}, 1<<32 - 1},
		"word at the end":        {[]bpf.RawInstruction{one(opLoad|word|absolute, 4), returnA}, 0x040506F7},
		"word beyond":            {[]bpf.RawInstruction{one(opLoad|word|absolute, 5), one(opReturn, 1)}, 0},
		"half beyond":            {[]bpf.RawInstruction{one(opLoad|halfword|absolute, 7), one(opReturn, 1)}, 0},
		"byte beyond":            {[]bpf.RawInstruction{one(opLoad|octet|absolute, 8), one(opReturn, 1)}, 0},
		"nibble":                 {[]bpf.RawInstruction{one(opLoadX|octet|nibble, 7), one(opTransfer|fromX, 0), returnA}, 28},
		"nibble beyond":          {[]bpf.RawInstruction{one(opLoadX|octet|nibble, 8), one(opReturn, 1)}, 0},
		"the kernel's knowledge": {[]bpf.RawInstruction{one(opLoad|octet|absolute, beside+48), one(opReturn, 1)}, 0},
		"around":                 {[]bpf.RawInstruction{setX(4), one(opLoad|octet|indirect, 1<<32-2), one(opReturn, 1)}, 0},
		"shift out":              {[]bpf.RawInstruction{set(1), setX(32), one(opALU|aluShl|byX, 0), returnA}, 0},
		"division by zero":       {[]bpf.RawInstruction{setX(0), one(opALU|aluDiv|byX, 0), one(opReturn, 1)}, 0},
		"remainder by zero":      {[]bpf.RawInstruction{setX(0), one(opALU|aluMod|byX, 0), one(opReturn, 1)}, 0},
	} {
		m, err := NewMachine(c.program)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if got := m.Run(frame, 1500); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

// FuzzRun compares random programs on random frames with golang.org/x/net/bpf. It stays
// away from the kernel: Linux frees programs that are replaced by the thousand so slowly
// that it can lock up, and takes no more of them until it is booted again.
func FuzzRun(f *testing.F) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		f.Add(randomBytes(rng, 6*(1+rng.IntN(40))), randomBytes(rng, rng.IntN(80)))
	}
	f.Fuzz(func(t *testing.T, code, frame []byte) {
		if len(frame) > 2000 || len(code) > 6*200 {
			return
		}
		program := programOf(code)
		m, err := NewMachine(program)
		if err != nil {
			return
		}
		got := m.Run(frame, uint32(len(frame)))
		if vm := otherMachine(program); vm != nil {
			if want, err := vm.Run(frame); err != nil || got != uint32(want) {
				t.Errorf("%v on %x: %d, x/net %d, %v", program, frame, got, want, err)
			}
		}
	})
}

func randomBytes(rng *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return b
}

// programOf makes a program of any bytes, six for an instruction, most of them right.
func programOf(code []byte) []bpf.RawInstruction {
	var ops []uint16
	for op := range uint16(0x100) {
		if _, known := does[op]; known && op&classMask != opReturn {
			ops = append(ops, op)
		}
	}
	var program []bpf.RawInstruction
	for ; len(code) >= 6; code = code[6:] {
		ins := bpf.RawInstruction{
			Op: ops[int(code[0])%len(ops)], Jt: code[1] % 8, Jf: code[2] % 8, K: binary.LittleEndian.Uint32(code[2:]) >> (code[1] % 32),
		}
		switch {
		case usesScratch(ins.Op):
			ins.K %= scratchWords
		case ins.Op&classMask == opLoad && ins.K < beside:
			ins.K %= 100
		case ins.Op == opJump:
			ins.K %= 8
		case ins.Op == opLoadX|constant, ins.Op == opLoadX|octet|nibble:
			ins.K %= 64
		}
		program = append(program, ins)
	}
	for range 9 { // where jumps end
		program = append(program, bpf.RawInstruction{Op: opReturn | returnA})
	}
	return program
}

// otherMachine returns nil for a program with what the other machine lacks, or takes
// for something else: it loads the length into A where it should be X.
func otherMachine(program []bpf.RawInstruction) *bpf.VM {
	for _, ins := range program {
		if ins.Op == opALU|aluNeg || ins.Op == opLoadX|wireLength || isAbsolute(ins.Op) && ins.K >= beside {
			return nil
		}
	}
	instructions, ok := bpf.Disassemble(program)
	if !ok {
		return nil
	}
	vm, err := bpf.NewVM(instructions)
	if err != nil {
		return nil
	}
	return vm
}
