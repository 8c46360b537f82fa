// SPDX-License-Identifier: Apache-2.0

package input

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/bpf"
)

// TestParseCondition reads what users write.
func TestParseCondition(t *testing.T) {
	for text, want := range map[string]Condition{
		"interface eth0": {Interface: "eth0"}, "  input  a b.pcap ": {Input: "a b.pcap"}, "input -": {Input: "-"},
		"tcp port 443": {Filter: bpf.Filter{Expr: "tcp port 443"}}, "interfaces 1": {Filter: bpf.Filter{Expr: "interfaces 1"}},
	} {
		got, err := ParseCondition(text)
		if err != nil || !equalCondition(&got, &want) {
			t.Errorf("%q: %+v, %v, want %+v", text, got, err, want)
		}
		if again, err := ParseCondition(got.String()); err != nil || !equalCondition(&again, &got) {
			t.Errorf("%q: %q is read as %+v, %v", text, got.String(), again, err)
		}
	}
	for _, text := range []string{"", " ", "interface", "input "} {
		if c, err := ParseCondition(text); err == nil {
			t.Errorf("%q: %+v", text, c)
		}
	}
}

func equalCondition(a, b *Condition) bool {
	return a.Interface == b.Interface && a.Input == b.Input && a.Filter.Expr == b.Filter.Expr
}

// needCompiler skips a test if there is no tcpdump.
func needCompiler(t *testing.T) {
	t.Helper()
	if _, err := new(bpf.Filter).For(t.Context(), capture.LinkEthernet, snapLen, ""); err != nil {
		t.Skip(err)
	}
}

// TestLinkTypes checks that an expression without a meaning for the first packet is an
// error, and that each later such link type gives one warning.
func TestLinkTypes(t *testing.T) {
	needCompiler(t)
	interfaces := []capture.Interface{{LinkType: capture.LinkRaw}, {LinkType: capture.LinkEthernet}, {LinkType: capture.LinkRaw}, {LinkType: capture.LinkPPP}}
	batch := func(order ...uint32) *capture.Batch {
		b := octets(len(order))
		b.Interfaces = interfaces
		for i, n := range order {
			b.Frames[i].Interface = n
		}
		return b
	}
	warnings := 0
	warn := func(err error) {
		if warnings++; !errors.Is(err, bpf.ErrExpression) {
			t.Error(err)
		}
	}
	m := matcher(bpf.Filter{Expr: "vlan"}, warn)
	for _, order := range [][]uint32{{}, {1, 0, 1, 2}, {2, 0}, {3, 1}, {1, 3, 2}} {
		if removed := sift(t, m, batch(order...)); removed != len(order) {
			t.Errorf("%v: %d removed", order, removed)
		}
	}
	if warnings != 2 || m.Matched() {
		t.Errorf("%d warnings", warnings)
	}
	m = matcher(bpf.Filter{Expr: "vlan"}, warn)
	for range 2 {
		if err := m.Admit(t.Context(), batch(2, 1)); !errors.Is(err, bpf.ErrExpression) || !strings.HasPrefix(err.Error(), "--filter: ") || warnings != 2 {
			t.Errorf("%v after %d warnings", err, warnings)
		}
	}
}

// ofInterfaces returns a batch with a frame from each of the interfaces from. There are n
// interfaces, each with a link type of its own.
func ofInterfaces(n int, from ...uint32) *capture.Batch {
	b := octets(len(from))
	b.Interfaces = make([]capture.Interface, n)
	for i := range b.Interfaces {
		b.Interfaces[i].LinkType = capture.LinkType(1000 + i)
	}
	for i, at := range from {
		b.Frames[i].Interface = at
	}
	return b
}

// TestManyLinkTypes checks that the first link types of packets get a program, in the
// order of the stream, and that types without packets get none.
func TestManyLinkTypes(t *testing.T) {
	needCompiler(t)
	var warnings []error
	m := matcher(bpf.Filter{Expr: "greater 2"}, func(err error) { warnings = append(warnings, err) })
	sift(t, m, ofInterfaces(10_000))
	if len(m.byLink) != 0 {
		t.Errorf("%d programs before any packet", len(m.byLink))
	}
	m.byLink[1000+9000] = &test{machine: ofIndex(1).machine} // the first packet must have a meaning
	for i := range uint32(maxLinkTypes) {
		at := 9000 - 3*i
		m.byLink[capture.LinkType(1000+at)] = &test{link: capture.LinkType(1000 + at), machine: ofIndex(1).machine}
		sift(t, m, ofInterfaces(10_000+int(i), at, 9000, at))
		tests := *m.tests.Load()
		if tests[at] == nil || tests[at] == m.over || tests[at].link != capture.LinkType(1000+at) {
			t.Fatalf("link type number %d: %+v", i, tests[at])
		}
	}
	if removed := sift(t, m, ofInterfaces(20_000, 5, 9000, 19_999, 5)); removed != 4 || len(m.byLink) != maxLinkTypes {
		t.Errorf("%d programs, %d removed", len(m.byLink), removed)
	}
	if tests := *m.tests.Load(); tests[5] != m.over || tests[19_999] != m.over || len(warnings) != 1 {
		t.Errorf("beyond the limit: %v", warnings)
	}
}

// TestManyLinkTypesOneProgram checks that one program serves all link types.
func TestManyLinkTypesOneProgram(t *testing.T) {
	m := matcher(evenBytes, nil)
	from := make([]uint32, 200)
	for i := range from {
		from[i] = uint32(i)
	}
	if removed := sift(t, m, ofInterfaces(len(from), from...)); removed != 100 || len(m.byLink) != 1 {
		t.Errorf("%d programs, %d removed", len(m.byLink), removed)
	}
}

// places is a batch of three named interfaces of two inputs, and of a cooked interface, whose
// frames name an interface by its index.
func places(rng *rand.Rand, n int) *capture.Batch {
	b := &capture.Batch{
		Sections: []capture.Section{{Input: 0}, {Input: 1}},
		Interfaces: []capture.Interface{
			{Name: "eth0", LinkType: capture.LinkEthernet}, {Name: "eth1", LinkType: capture.LinkRaw},
			{Section: 1, Name: "eth0", LinkType: capture.LinkPPP}, {Section: 1, Name: "any", LinkType: capture.LinkLinuxSLL2},
		},
	}
	for range n {
		at := len(b.Buf)
		b.Buf = binary.BigEndian.AppendUint64(b.Buf, uint64(rng.IntN(4)))
		b.Frames = append(b.Frames, capture.Frame{Data: uint32(at), CapLen: uint32(4 + 4*rng.IntN(2)), WireLen: 8, Interface: uint32(rng.IntN(4))})
	}
	return b
}

// TestPlaces compares conditions about interfaces and inputs with what they mean, whatever
// part of a batch is matched.
func TestPlaces(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	index := uint32(2)
	for text, holds := range map[string]func(b *capture.Batch, i int) bool{
		"interface eth0": func(b *capture.Batch, i int) bool {
			f := &b.Frames[i]
			cooked := index != 0 && f.Interface == 3 && f.CapLen == 8 && binary.BigEndian.Uint32(b.Data(i)[4:]) == index
			return f.Interface == 0 || f.Interface == 2 || cooked
		},
		"interface any":  func(b *capture.Batch, i int) bool { return b.Frames[i].Interface == 3 },
		"interface eth9": func(*capture.Batch, int) bool { return false },
		"input -":        func(b *capture.Batch, i int) bool { return b.Frames[i].Interface >= 2 },
		"input a.pcap":   func(b *capture.Batch, i int) bool { return b.Frames[i].Interface < 2 },
	} {
		c, err := ParseCondition(text)
		if err != nil {
			t.Fatal(err)
		}
		m := NewMatcher(MatcherConfig{
			Flag: "--only", Condition: c, Inputs: []string{"a.pcap", "stdin"},
			InterfaceIndex: func(name string) uint32 {
				return map[string]uint32{"eth0": index}[name]
			},
		})
		any := false
		for round := range 40 {
			index = uint32(round / 20 * 3) // the interface goes, and comes back with a different index
			b := places(rng, rng.IntN(300))
			if err := m.Admit(t.Context(), b); err != nil {
				t.Fatal(err)
			}
			if err := m.Compile(t.Context(), capture.LinkRaw); err != nil {
				t.Error(err)
			}
			from := 64 * rng.IntN(3)
			from = min(from, len(b.Frames)/64*64)
			want := make([]uint64, (len(b.Frames)-from+63)/64)
			for i := from; i < len(b.Frames); i++ {
				if holds(b, i) {
					want[(i-from)/64] |= 1 << ((i - from) % 64)
					any = true
				}
			}
			got := make([]uint64, len(want))
			for i := range got {
				got[i] = rng.Uint64()
			}
			if m.Match(got, b, from, len(b.Frames)); !slices.Equal(got, want) {
				t.Fatalf("%s: %x, want %x", text, got, want)
			}
		}
		if m.Matched() != any || m.String() != "--only "+text {
			t.Errorf("%v: matched %t, want %t", m, m.Matched(), any)
		}
	}
}

// TestNoCompiler checks that the advice about --bpf-file is given only for --filter, and that
// conditions about places need no compiler.
func TestNoCompiler(t *testing.T) {
	t.Setenv("PATH", "")
	for _, flag := range []string{filterFlag, "--only"} {
		err := NewMatcher(MatcherConfig{Flag: flag, Condition: Condition{Filter: bpf.Filter{Expr: "tcp"}}}).Compile(t.Context(), capture.LinkEthernet)
		if err == nil {
			t.Skip("tcpdump is found without PATH")
		}
		if !strings.HasPrefix(err.Error(), flag+": ") || !strings.Contains(err.Error(), "tcpdump") || strings.Contains(err.Error(), "--bpf-file") != (flag == filterFlag) {
			t.Error(err)
		}
	}
}
