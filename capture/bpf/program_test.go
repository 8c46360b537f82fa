// SPDX-License-Identifier: Apache-2.0

package bpf

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"golang.org/x/net/bpf"
)

func TestParse(t *testing.T) {
	want := []bpf.RawInstruction{{Op: 40, K: 12}, {Op: 21, Jf: 1, K: 2048}, {Op: 6, K: 262144}, {Op: 6}}
	for _, text := range []string{
		"4\n40 0 0 12\n21 0 1 2048\n6 0 0 262144\n6 0 0 0\n",
		"4\r\n40 0 0 12\r\n21 0 1 2048\r\n6 0 0 262144\r\n6 0 0 0",
		" 4 \n\n40\t0 0 12\n21 0 1 2048\n\n6 0 0 262144\n6 0 0 0\n\n",
	} {
		if got, err := Parse(strings.NewReader(text)); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                                 "0 instructions",
		"ldh [12]\n":                       "line 1",
		"2\n6 0 0 0\n":                     "line 1 says 2",
		"1\n6 0 0 0\n6 0 0 0\n":            "line 1 says 1",
		"1\n6 0 0\n":                       "line 2",
		"1\n6 0 0 0x10\n":                  "line 2",
		"1\n6 256 0 0\n":                   "line 2",
		"1\n65536 0 0 0\n":                 "line 2",
		"1\n6 0 0 4294967296\n":            "line 2",
		"0\n":                              "0 instructions",
		"1\n" + strings.Repeat("6", 1<<20): "too long",
		"1\n" + strings.Repeat("6 0 0 0\n", maxLen+1): "more than",
	} {
		if _, err := Parse(strings.NewReader(text)); !errors.Is(err, ErrProgram) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %q", text, err, want)
		}
	}
	broken := errors.New("broken")
	if _, err := Parse(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Error(err)
	}
}

func TestNewMachine(t *testing.T) {
	ret := bpf.RawInstruction{Op: opReturn}
	load := bpf.RawInstruction{Op: opLoad | memoryMode, K: 3}
	store := bpf.RawInstruction{Op: opStore, K: 3}
	branch := func(jt, jf uint8) bpf.RawInstruction {
		return bpf.RawInstruction{Op: opJump | jumpEqual, Jt: jt, Jf: jf}
	}
	long := func(n int) []bpf.RawInstruction { return slices.Repeat([]bpf.RawInstruction{ret}, n) }
	for name, c := range map[string]struct {
		program []bpf.RawInstruction
		want    string // "" if it is right
	}{
		"return":             {[]bpf.RawInstruction{ret}, ""},
		"longest":            {long(maxLen), ""},
		"too long":           {long(maxLen + 1), "65536"},
		"no return":          {[]bpf.RawInstruction{{Op: opLoad}}, "return"},
		"unknown":            {[]bpf.RawInstruction{{Op: 0xFFFF}, ret}, "not an operation"},
		"return X":           {[]bpf.RawInstruction{{Op: opReturn | byX}}, "not an operation"},
		"jump":               {[]bpf.RawInstruction{{Op: opJump, K: 1}, ret, ret}, ""},
		"jump too far":       {[]bpf.RawInstruction{{Op: opJump, K: 2}, ret, ret}, "beyond the end"},
		"jump back":          {[]bpf.RawInstruction{ret, {Op: opJump, K: 0xFFFFFFFE}, ret}, ""},
		"jump too far back":  {[]bpf.RawInstruction{ret, {Op: opJump, K: 0xFFFFFFFD}, ret}, "beyond"},
		"branch without end": {[]bpf.RawInstruction{branch(0, 0)}, "beyond"},
		"branch":             {[]bpf.RawInstruction{branch(1, 0), ret, ret}, ""},
		"true too far":       {[]bpf.RawInstruction{branch(2, 0), ret, ret}, "beyond the end"},
		"false too far":      {[]bpf.RawInstruction{branch(0, 2), ret, ret}, "beyond the end"},
		"division by X":      {[]bpf.RawInstruction{{Op: opALU | aluDiv | byX}, ret}, ""},
		"division by 0":      {[]bpf.RawInstruction{{Op: opALU | aluDiv}, ret}, "zero"},
		"remainder by 0":     {[]bpf.RawInstruction{{Op: opALU | aluMod}, ret}, "zero"},
		"shift":              {[]bpf.RawInstruction{{Op: opALU | aluShl, K: 32}, ret}, "shift"},
		"scratch":            {[]bpf.RawInstruction{store, load, ret}, ""},
		"scratch beyond":     {[]bpf.RawInstruction{{Op: opStoreX, K: 16}, ret}, "scratch"},
	} {
		_, err := NewMachine(c.program)
		if (err == nil) != (c.want == "") || err != nil && (!errors.Is(err, ErrProgram) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
