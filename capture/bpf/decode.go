package bpf

import "golang.org/x/net/bpf"

// step is an instruction as a Machine runs it: what to do is numbered without gaps, so
// that the switch becomes one jump, and places to go on at are counted from the start.
type step struct {
	do      do
	yes, no uint16 // the step behind; no is for branches
	at      uint32 // where to load
	k       uint32 // the operand otherwise
}

// do is what a step does.
type do uint8

const (
	doReturn do = iota
	doReturnA
	doLoadWord
	doLoadHalf
	doLoadByte
	doLoadWordAtX
	doLoadHalfAtX
	doLoadByteAtX
	doLoadNibble
	doLoadWordEqual
	doLoadHalfEqual
	doLoadByteEqual
	doLoadHalfAnyBit
	doLoadHalfAtXEqual
	doJump
	doJumpBack
	doEqual
	doGreater
	doAtLeast
	doAnyBit
	doEqualX
	doGreaterX
	doAtLeastX
	doAnyBitX
	doSet
	doSetX
	doLength
	doLengthX
	doReload
	doReloadX
	doStore
	doStoreX
	doToX
	doFromX
	doAdd
	doSub
	doMul
	doDiv
	doMod
	doOr
	doAnd
	doXor
	doShl
	doShr
	doNeg
	doAddX
	doSubX
	doMulX
	doDivX
	doModX
	doOrX
	doAndX
	doXorX
	doShlX
	doShrX
)

// does has every operation of a classic BPF program (chk_code_allowed).
var does = map[uint16]do{
	opReturn | constant: doReturn, opReturn | returnA: doReturnA,

	opLoad | word | absolute: doLoadWord, opLoad | halfword | absolute: doLoadHalf, opLoad | octet | absolute: doLoadByte,
	opLoad | word | indirect: doLoadWordAtX, opLoad | halfword | indirect: doLoadHalfAtX, opLoad | octet | indirect: doLoadByteAtX,
	opLoadX | octet | nibble: doLoadNibble,

	opJump | jumpAlways: doJump, opJump | jumpEqual: doEqual, opJump | jumpGreater: doGreater,
	opJump | jumpAtLeast: doAtLeast, opJump | jumpAnyBit: doAnyBit, opJump | jumpEqual | byX: doEqualX,
	opJump | jumpGreater | byX: doGreaterX, opJump | jumpAtLeast | byX: doAtLeastX, opJump | jumpAnyBit | byX: doAnyBitX,

	opLoad | constant: doSet, opLoadX | constant: doSetX, opLoad | wireLength: doLength, opLoadX | wireLength: doLengthX,
	opLoad | scratch: doReload, opLoadX | scratch: doReloadX, opStore: doStore, opStoreX: doStoreX,
	opTransfer | toX: doToX, opTransfer | fromX: doFromX,

	opALU | aluAdd: doAdd, opALU | aluSub: doSub, opALU | aluMul: doMul, opALU | aluDiv: doDiv, opALU | aluMod: doMod,
	opALU | aluOr: doOr, opALU | aluAnd: doAnd, opALU | aluXor: doXor, opALU | aluShl: doShl, opALU | aluShr: doShr,
	opALU | aluNeg: doNeg, opALU | aluAdd | byX: doAddX, opALU | aluSub | byX: doSubX, opALU | aluMul | byX: doMulX,
	opALU | aluDiv | byX: doDivX, opALU | aluMod | byX: doModX, opALU | aluOr | byX: doOrX, opALU | aluAnd | byX: doAndX,
	opALU | aluXor | byX: doXorX, opALU | aluShl | byX: doShlX, opALU | aluShr | byX: doShrX,
}

// fused has the loads that do the jump behind them as well: what most programs are
// made of.
var fused = map[[2]do]do{
	{doLoadWord, doEqual}:    doLoadWordEqual,
	{doLoadHalf, doEqual}:    doLoadHalfEqual,
	{doLoadByte, doEqual}:    doLoadByteEqual,
	{doLoadHalf, doAnyBit}:   doLoadHalfAnyBit,
	{doLoadHalfAtX, doEqual}: doLoadHalfAtXEqual,
}

// decode makes the steps of a program that check accepts. The last first, since a load
// takes over the jump behind it; that one stays for those who jump there.
func decode(program []bpf.RawInstruction) []step {
	steps := make([]step, len(program))
	for at := len(program) - 1; at >= 0; at-- {
		ins, s := program[at], &steps[at]
		*s = step{do: does[ins.Op], yes: uint16(at + 1), at: ins.K, k: ins.K}
		switch {
		case s.do == doJump:
			s.yes += uint16(ins.K)
			if int32(ins.K) < 0 {
				s.do = doJumpBack
			}
		case isBranch(ins.Op):
			s.yes, s.no = s.yes+uint16(ins.Jt), s.yes+uint16(ins.Jf)
		case ins.Op&classMask == opReturn:
		default:
			if both, found := fused[[2]do{s.do, steps[at+1].do}]; found {
				s.do, s.yes, s.no, s.k = both, steps[at+1].yes, steps[at+1].no, steps[at+1].k
			}
		}
	}
	return steps
}
