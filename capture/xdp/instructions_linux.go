// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only

// The programs that the kernel runs, and nothing else, are in this file. It has a licence of
// its own, unlike the rest of the project (Apache-2.0): the kernel lets only programs whose
// licence is compatible with version 2 of the GPL call the functions that return a packet's
// VLAN tag and the time of the network card, and Apache-2.0 is not. Who passes the file on in
// the project does so by the terms of BSD-2-Clause, which is in LICENSE.BSD-2-Clause next to
// it.

package xdp

import (
	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"
)

// kernelLicence is the kernel's name for the licence of this file.
const kernelLicence = "Dual BSD/GPL"

// notes are the program's notes before each packet.
type notes struct {
	stamps bool
	polls  *pollClock // nil to read the clock for each packet
	tag    int32      // the kernel function that reports the tag; 0 for none
	card   int32      // the kernel function that reports the time of the network card; 0 for none
}

// Offsets on the stack of the program.
const typeAt, controlAt, cardAt = -8, -6, -16

// instructions are the program. It writes notes before a packet and redirects it:
//
//	struct { u16 type, control; } t = {};
//	u32 time = bpf_ktime_get_tai_ns() >> stampShift & ~stampTagged; // or the stamp of the poll
//	int failed = tag(ctx, &t.type, &t.control);
//	if (!failed || failed == -EOPNOTSUPP) {
//		if (!bpf_xdp_adjust_meta(ctx, -tagStampLen))
//			*(ctx->data_meta) = { t, time | stampTagged };
//	} else if (!bpf_xdp_adjust_meta(ctx, -stampLen))
//		*(ctx->data_meta) = { time };
//	return bpf_redirect_map(&sockets, ctx->rx_queue_index, XDP_PASS);
//
// The last argument is the action without a socket. Without a function for tags, their part is
// left out. With a function for the time of the network card, its part comes first, and the
// tag has its place in any case:
//
//	u64 card = 0;
//	if (timestamp(ctx, &card))
//		card = 0;
//	if (!bpf_xdp_adjust_meta(ctx, -timedStampLen))
//		*(ctx->data_meta) = { card, t, time };
func (n *notes) instructions(sockets int) asm.Instructions {
	const queueAt, pass = 16, 2 // of struct xdp_md; of enum xdp_action
	program := asm.Instructions{asm.Mov.Reg(asm.R6, asm.R1)}
	if n.stamps {
		program = append(program, n.polls.read()...)
	}
	switch {
	case n.card != 0:
		program = append(program, n.timed()...)
	case n.stamps:
		program = append(program, n.stamped()...)
	}
	return append(program,
		asm.LoadMem(asm.R2, asm.R6, queueAt, asm.Word).WithSymbol("redirect"),
		asm.LoadMapPtr(asm.R1, sockets),
		asm.Mov.Imm(asm.R3, pass),
		asm.FnRedirectMap.Call(),
		asm.Return(),
	)
}

// stamped are instructions that write the stamp, which register 7 has, and a tag.
func (n *notes) stamped() (program asm.Instructions) {
	if n.tag != 0 {
		program = append(n.askTag(), prepend(tagStampLen, "tagged")...)
		program = append(program,
			asm.LoadMem(asm.R1, asm.RFP, typeAt, asm.Word),
			asm.StoreMem(asm.R2, 0, asm.R1, asm.Word),
			asm.Or.Imm(asm.R7, stampTagged),
			asm.StoreMem(asm.R2, tagStampLen-stampLen, asm.R7, asm.Word),
			asm.Ja.Label("redirect"),
		)
	}
	program = append(program, prepend(stampLen, "untagged")...)
	return append(program, asm.StoreMem(asm.R2, 0, asm.R7, asm.Word))
}

// timed are instructions that write the time of the network card, the tag, and the stamp.
func (n *notes) timed() asm.Instructions {
	program := asm.Instructions{
		asm.Mov.Imm(asm.R1, 0),
		asm.StoreMem(asm.RFP, cardAt, asm.R1, asm.DWord),
		asm.StoreMem(asm.RFP, typeAt, asm.R1, asm.DWord),
		asm.Mov.Reg(asm.R1, asm.R6),
		asm.Mov.Reg(asm.R2, asm.RFP),
		asm.Add.Imm(asm.R2, cardAt),
		kernelCall(n.card),
		asm.JEq.Imm32(asm.R0, 0, "afterCard"),
		asm.Mov.Imm(asm.R1, 0),
		asm.StoreMem(asm.RFP, cardAt, asm.R1, asm.DWord),
		asm.Mov.Reg(asm.R7, asm.R7).WithSymbol("afterCard"), // both ways go on here
	}
	if n.tag != 0 {
		program = append(program, n.askTag()...)
		program = append(program, asm.Or.Imm(asm.R7, stampTagged).WithSymbol("tagged"))
	}
	program = append(program, prepend(timedStampLen, "untagged")...)
	for _, part := range []struct{ from, to int16 }{{cardAt, 0}, {cardAt + 4, 4}, {typeAt, 8}} {
		program = append(program, asm.LoadMem(asm.R1, asm.RFP, part.from, asm.Word), asm.StoreMem(asm.R2, part.to, asm.R1, asm.Word))
	}
	return append(program, asm.StoreMem(asm.R2, timedStampLen-stampLen, asm.R7, asm.Word))
}

// askTag are instructions that ask the driver for a tag. They go to "tagged" if there is or
// may be a tag, else to "untagged".
func (n *notes) askTag() asm.Instructions {
	return asm.Instructions{
		asm.Mov.Imm(asm.R1, 0),
		asm.StoreMem(asm.RFP, typeAt, asm.R1, asm.DWord),
		asm.Mov.Reg(asm.R1, asm.R6),
		asm.Mov.Reg(asm.R2, asm.RFP),
		asm.Add.Imm(asm.R2, typeAt),
		asm.Mov.Reg(asm.R3, asm.RFP),
		asm.Add.Imm(asm.R3, controlAt),
		kernelCall(n.tag),
		asm.JEq.Imm32(asm.R0, 0, "tagged"),
		asm.JNE.Imm32(asm.R0, -int32(unix.EOPNOTSUPP), "untagged"),
	}
}

// kernelCall calls a function of the kernel by its number.
func kernelCall(id int32) asm.Instruction {
	return asm.Instruction{OpCode: asm.OpCode(asm.JumpClass).SetJumpOp(asm.Call), Src: asm.PseudoKfuncCall, Constant: int64(id)}
}

// prepend makes room for n bytes before the packet, at register 2.
func prepend(n int32, label string) asm.Instructions {
	const dataAt, metaAt = 0, 8 // of struct xdp_md
	return asm.Instructions{
		asm.Mov.Reg(asm.R1, asm.R6).WithSymbol(label),
		asm.Mov.Imm(asm.R2, -n),
		asm.FnXdpAdjustMeta.Call(),
		asm.JNE.Imm(asm.R0, 0, "redirect"),
		asm.LoadMem(asm.R2, asm.R6, metaAt, asm.Word),
		asm.LoadMem(asm.R3, asm.R6, dataAt, asm.Word),
		asm.Mov.Reg(asm.R4, asm.R2),
		asm.Add.Imm(asm.R4, n),
		asm.JGT.Reg(asm.R4, asm.R3, "redirect"),
	}
}

// entry are instructions that put the address of the processor's entry into register 0,
// and go to label if there is none, which only the verifier believes.
func (p *pollClock) entry(label string) asm.Instructions {
	const keyAt = -4 // on the stack
	return asm.Instructions{
		asm.StoreImm(asm.RFP, keyAt, 0, asm.Word),
		asm.Mov.Reg(asm.R2, asm.RFP),
		asm.Add.Imm(asm.R2, keyAt),
		asm.LoadMapPtr(asm.R1, p.stamps.FD()),
		asm.FnMapLookupElem.Call(),
		asm.JEq.Imm(asm.R0, 0, label),
	}
}

// clear is the program of the tracepoint.
func (p *pollClock) clear() asm.Instructions {
	return append(p.entry("end"),
		asm.Mov.Imm(asm.R1, 0),
		asm.StoreMem(asm.R0, pollStampAt, asm.R1, asm.DWord),
		asm.Mov.Imm(asm.R0, 0).WithSymbol("end"),
		asm.Return(),
	)
}

// read are instructions that put the stamp of a packet into register 7. They use register 8.
// Without a pollClock the stamp is the clock's:
//
//	struct { u64 stamp, tick; } *e = bpf_map_lookup_elem(&stamps, &zero);
//	if (!e->stamp || e->tick != bpf_jiffies64())
//		*e = { bpf_ktime_get_tai_ns() >> stampShift & ~stampTagged, bpf_jiffies64() };
//	return e->stamp;
func (p *pollClock) read() asm.Instructions {
	clock := asm.Instructions{
		asm.FnKtimeGetTaiNs.Call(),
		asm.Mov.Reg(asm.R7, asm.R0),
		asm.RSh.Imm(asm.R7, stampShift),
		asm.And.Imm(asm.R7, ^stampTagged),
	}
	if p == nil {
		return clock
	}
	code := append(p.entry("redirect"),
		asm.Mov.Reg(asm.R8, asm.R0),
		asm.FnJiffies64.Call(),
		asm.LoadMem(asm.R7, asm.R8, pollStampAt, asm.DWord),
		asm.JEq.Imm(asm.R7, 0, "clock"),
		asm.LoadMem(asm.R1, asm.R8, pollTickAt, asm.DWord),
		asm.JEq.Reg(asm.R1, asm.R0, "stamped"),
		asm.StoreMem(asm.R8, pollTickAt, asm.R0, asm.DWord).WithSymbol("clock"),
	)
	code = append(code, clock...)
	return append(code,
		asm.StoreMem(asm.R8, pollStampAt, asm.R7, asm.DWord),
		asm.Mov.Reg(asm.R7, asm.R7).WithSymbol("stamped"),
	)
}
