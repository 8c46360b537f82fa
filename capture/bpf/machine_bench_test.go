package bpf

import (
	"context"
	"testing"

	"golang.org/x/net/bpf"

	"github.com/flowdedup/flowdedup/capture"
)

// BenchmarkRun runs programs on packets to port 443 and to port 80, in turn: ns a
// packet, here and in golang.org/x/net/bpf.
func BenchmarkRun(b *testing.B) {
	needCompiler(b)
	frames := [][]byte{tcpFrame(443), tcpFrame(80)}
	for _, expr := range []string{"ip", "tcp port 443", "host 10.0.0.1 and not port 22", "vlan or greater 1000"} {
		program, err := Compile(context.Background(), expr, capture.LinkEthernet, 1500, "")
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
