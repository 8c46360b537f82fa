// SPDX-License-Identifier: Apache-2.0

package bpf

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"golang.org/x/net/bpf"

	"github.com/flowdedup/flowdedup/capture"
)

// beside is where loads reach the kernel's metadata of a packet (SKF_AD_OFF).
const beside = 0xFFFFF000

// TestRun has cases that other machines do not show: the length on the wire, an operation that
// one of them lacks, and how loads behave whose place is far out.
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
		if _, known := operations[op]; known && op&classMask != opReturn {
			ops = append(ops, op)
		}
	}
	var program []bpf.RawInstruction
	for ; len(code) >= 6; code = code[6:] {
		ins := bpf.RawInstruction{
			Op: ops[int(code[0])%len(ops)], Jt: code[1] % 8, Jf: code[2] % 8, K: binary.LittleEndian.Uint32(code[2:]) >> (code[1] % 32),
		}
		switch {
		case usesMemory(ins.Op):
			ins.K %= memoryWords
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
		if ins.Op == opALU|aluNeg || ins.Op == opLoadX|wireLength || ins.Op&0xE7 == opLoad|absolute && ins.K >= beside {
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

// BenchmarkRun runs programs on packets to port 443 and to port 80, in turn: ns a
// packet, here and in golang.org/x/net/bpf.
func BenchmarkRun(b *testing.B) {
	needCompiler(b)
	frames := [][]byte{tcpFrame(443), tcpFrame(80)}
	for _, expr := range []string{"ip", "tcp port 443", "host 10.0.0.1 and not port 22", "vlan or greater 1000"} {
		program, err := compile(context.Background(), expr, capture.LinkEthernet, 1500, "")
		if err != nil {
			b.Fatal(err)
		}
		b.Run("expr="+expr+"/machine=ours", func(b *testing.B) {
			m, err := NewMachine(program)
			if err != nil {
				b.Fatal(err)
			}
			for i := 0; b.Loop(); i++ {
				frame := frames[i&1]
				m.Run(frame, uint32(len(frame)))
			}
		})
		b.Run("expr="+expr+"/machine=x-net", func(b *testing.B) {
			vm := newVM(b, program)
			for i := 0; b.Loop(); i++ {
				if _, err := vm.Run(frames[i&1]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// newVM makes the other machine run a program.
func newVM(t testing.TB, program []bpf.RawInstruction) *bpf.VM {
	t.Helper()
	instructions, ok := bpf.Disassemble(program)
	if !ok {
		t.Fatal("not disassembled")
	}
	vm, err := bpf.NewVM(instructions)
	if err != nil {
		t.Fatal(err)
	}
	return vm
}

// tcpFrame is an Ethernet frame with the start of a TCP segment to a port.
func tcpFrame(port uint16) []byte {
	frame := make([]byte, 60)
	copy(frame[12:], []byte{0x08, 0x00, 0x45, 0, 0, 46})
	copy(frame[23:], []byte{6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0x99, 0x99, byte(port >> 8), byte(port)})
	return frame
}
