// SPDX-License-Identifier: Apache-2.0

package afpacket

import (
	"errors"
	"testing"

	"golang.org/x/net/bpf"
)

func TestProgram(t *testing.T) {
	user := []bpf.RawInstruction{
		{Op: 0x28, K: 12}, {Op: 0x15, Jt: 0, Jf: 1, K: 0x800},
		{Op: 0x06, K: 262144}, {Op: 0x06, K: 0},
	}
	p, err := program(nil, user, 96, false)
	if err != nil || len(p) != 4 || p[0] != user[0] || p[2].K != 96 || p[3].K != 0 {
		t.Errorf("%v, %v", p, err)
	}
	p, err = program(onceOnLoopback, nil, 96, true)
	if err != nil || len(p) != len(onceOnLoopback)+1 || p[len(p)-1] != (bpf.RawInstruction{Op: 0x06, K: 96}) {
		t.Errorf("%v, %v", p, err)
	}
	if user[2].K != 262144 {
		t.Error("the user's program was changed")
	}
}

// TestProgramCooked translates the output of tcpdump -y LINUX_SLL2 -ddd for several
// filters.
func TestProgramCooked(t *testing.T) {
	for _, tt := range []struct {
		in   bpf.RawInstruction
		want uint32
		bad  bool
	}{
		{in: bpf.RawInstruction{Op: 0x28, K: 0}, want: ancillaryOffset + uint32(bpf.ExtProto)},
		{in: bpf.RawInstruction{Op: 0x20, K: 4}, want: ancillaryOffset + uint32(bpf.ExtInterfaceIndex)},
		{in: bpf.RawInstruction{Op: 0x28, K: 8}, want: ancillaryOffset + uint32(bpf.ExtLinkLayerType)},
		{in: bpf.RawInstruction{Op: 0x30, K: 10}, want: ancillaryOffset + uint32(bpf.ExtType)},
		{in: bpf.RawInstruction{Op: 0x30, K: 29}, want: networkOffset + 9},
		{in: bpf.RawInstruction{Op: 0xb1, K: 20}, want: networkOffset},
		{in: bpf.RawInstruction{Op: 0x48, K: 22}, want: networkOffset + 2},
		{in: bpf.RawInstruction{Op: 0x30, K: ancillaryOffset + 48}, want: ancillaryOffset + 48},
		{in: bpf.RawInstruction{Op: 0x15, K: 6}, want: 6},
		{in: bpf.RawInstruction{Op: 0x80, K: 0}, want: 0},
		{in: bpf.RawInstruction{Op: 0x30, K: 12}, bad: true},
		{in: bpf.RawInstruction{Op: 0xb1, K: 19}, bad: true},
	} {
		p, err := program(nil, []bpf.RawInstruction{tt.in}, 96, true)
		switch {
		case tt.bad:
			if !errors.Is(err, ErrFilter) {
				t.Errorf("%+v: %v", tt.in, err)
			}
		case err != nil:
			t.Errorf("%+v: %v", tt.in, err)
		case p[0].K != tt.want || p[0].Op != tt.in.Op:
			t.Errorf("%+v became %+v", tt.in, p[0])
		}
	}
}
