package xdp

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"github.com/flowdedup/flowdedup/capture/internal/sockets"
)

// redirect hands the packets of an interface to sockets, by receive queue. A queue
// without a socket leaves its packets to the host.
type redirect struct {
	sockets  *ebpf.Map
	attached link.Link
	generic  bool       // the program runs in the kernel's generic path, not in the driver
	stamps   bool       // the program notes the time, for which Linux 6.1 is needed
	polls    *pollClock // nil if it reads the clock for each packet
	tags     bool       // and asks the driver for VLAN tags that it has taken off (Linux 6.8)
	cards    bool       // and for the time of the network card (Linux 6.3)
}

// attach attaches the program to an interface, without any sockets. split says that it
// sees packets whose bytes do not lie in one piece, and cards that times of the network card
// are wanted.
func attach(dev *sockets.Device, split, cards bool) (*redirect, error) {
	r := &redirect{polls: newPollClock(dev.Name)}
	err := r.attach(dev.Index, split, cards)
	if err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

// maxQueues is how many sockets a program serves.
const maxQueues = 1 << 10

func (r *redirect) attach(index int, split, cards bool) (err error) {
	r.sockets, err = ebpf.NewMap(&ebpf.MapSpec{Name: "flowdedup", Type: ebpf.XSKMap, KeySize: 4, ValueSize: 4, MaxEntries: maxQueues})
	if err != nil {
		return err
	}
	// What the kernel or the driver lacks is left out.
	var native error
	for _, kind := range []struct{ generic, cards, tags, stamps bool }{
		{cards: true, tags: true, stamps: true}, {cards: true, stamps: true},
		{tags: true, stamps: true}, {stamps: true}, {}, {generic: true, stamps: true}, {generic: true},
	} {
		if kind.cards && !cards {
			continue
		}
		r.generic, r.cards, r.tags, r.stamps = kind.generic, kind.cards, kind.tags, kind.stamps
		err = r.bind(index, split)
		if err == nil || errors.Is(err, unix.EBUSY) {
			return err
		}
		if !kind.generic {
			native = err
		}
	}
	return fmt.Errorf("%w (in the driver: %w)", err, native)
}

// bind loads the program and attaches it. A program that asks the driver is of one
// interface alone.
func (r *redirect) bind(index int, split bool) error {
	spec := &ebpf.ProgramSpec{Name: "flowdedup", Type: ebpf.XDP, License: "Apache-2.0"}
	mode := link.XDPDriverMode
	if r.generic {
		mode = link.XDPGenericMode
	}
	if split {
		spec.Flags |= unix.BPF_F_XDP_HAS_FRAGS
	}
	n := notes{stamps: r.stamps, polls: r.polls}
	for _, f := range []struct {
		wanted bool
		name   string
		id     *int32
	}{{r.tags, "bpf_xdp_metadata_rx_vlan_tag", &n.tag}, {r.cards, "bpf_xdp_metadata_rx_timestamp", &n.card}} {
		if !f.wanted {
			continue
		}
		var err error
		if *f.id, err = kernelFunction(f.name); err != nil {
			return err
		}
		spec.License = "Dual BSD/GPL" // of these instructions: only such may call that function
		spec.Flags |= unix.BPF_F_XDP_DEV_BOUND_ONLY
		spec.Ifindex = uint32(index)
	}
	spec.Instructions = n.instructions(r.sockets.FD())
	program, err := ebpf.NewProgramWithOptions(spec, ebpf.ProgramOptions{LogDisabled: true})
	if err != nil {
		return err
	}
	defer program.Close() // the link keeps it
	r.attached, err = link.AttachXDP(link.XDPOptions{Program: program, Interface: index, Flags: mode})
	return err
}

// kernelFunction returns the number by which programs call a function of the kernel.
func kernelFunction(name string) (int32, error) {
	kernel, err := btf.LoadKernelSpec()
	if err != nil {
		return 0, err
	}
	var f *btf.Func
	if err := kernel.TypeByName(name, &f); err != nil {
		return 0, err
	}
	id, err := kernel.TypeID(f)
	return int32(id), err
}

// notes are what the program notes before each packet.
type notes struct {
	stamps bool
	polls  *pollClock // nil to read the clock for each packet
	tag    int32      // the function of the kernel that tells the tag; 0 for none
	card   int32      // that tells the time of the network card; 0 for none
}

// What the program has on its stack.
const typeAt, controlAt, cardAt = -8, -6, -16

// instructions are the program. It writes notes before a packet and redirects it:
//
//	struct { u16 type, control; } t = {};
//	u32 time = bpf_ktime_get_tai_ns() >> stampShift & ~stampTagged; // or that of the poll
//	int failed = tag(ctx, &t.type, &t.control);
//	if (!failed || failed == -EOPNOTSUPP) {
//		if (!bpf_xdp_adjust_meta(ctx, -tagStampLen))
//			*(ctx->data_meta) = { t, time | stampTagged };
//	} else if (!bpf_xdp_adjust_meta(ctx, -stampLen))
//		*(ctx->data_meta) = { time };
//	return bpf_redirect_map(&sockets, ctx->rx_queue_index, XDP_PASS);
//
// The last argument is what happens without a socket. Without a function for tags, what
// concerns them is left out. With one for the time of the network card, that comes first,
// and the tag has its place in any case:
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
		asm.JEq.Imm32(asm.R0, 0, "told"),
		asm.Mov.Imm(asm.R1, 0),
		asm.StoreMem(asm.RFP, cardAt, asm.R1, asm.DWord),
		asm.Mov.Reg(asm.R7, asm.R7).WithSymbol("told"), // both ways go on here
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

// askTag are instructions that ask the driver for a tag. They go to "tagged" if there is
// one, or may be one, else to "untagged".
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

// start hands the packets of a queue to a socket.
func (r *redirect) start(queue, socket int) error {
	return r.sockets.Put(uint32(queue), uint32(socket))
}

// stop detaches the program. This needs no privileges.
func (r *redirect) stop() {
	if r.attached != nil {
		_ = r.attached.Close() // closes a file descriptor
		r.attached = nil
	}
}

func (r *redirect) close() {
	r.stop()
	if r.sockets != nil {
		_ = r.sockets.Close() // as above
		r.sockets = nil
	}
	r.polls.close()
	r.polls = nil
}
