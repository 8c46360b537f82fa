package xdp

import (
	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"
)

// pollClock lets the program read the clock once for all packets of a poll, which reads
// for each packet would make a fifth slower. A driver polls its queue when there are
// packets, and takes at most 64 at a time (NAPI). When a poll ends, the kernel runs a
// second program (raw tracepoint napi_poll), which clears the stamp of its processor.
//
// A processor also begins a new stamp with each tick of the kernel, so that no stamp is
// older than that, whatever a driver does.
type pollClock struct {
	stamps   *ebpf.Map // of each processor: the stamp, 0 for none, and the tick it is of
	attached link.Link
}

// Where the map of a pollClock has what.
const (
	pollStampAt, pollTickAt = 0, 8
	pollEntryLen            = 16
)

// newPollClock returns nil where only the clock itself is right: without the privilege for
// tracepoints (CAP_PERFMON), and for a driver without polls.
func newPollClock(name string) *pollClock {
	if !polls(name) {
		return nil
	}
	p := &pollClock{}
	if p.open() != nil {
		p.close()
		return nil
	}
	return p
}

// polls reports whether the driver of an interface polls. That of virtual machines' taps
// hands over packets as they are written.
func polls(name string) bool {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer func() { _ = unix.Close(fd) }() // only used for the ioctl
	info, err := unix.IoctlGetEthtoolDrvinfo(fd, name)
	return err == nil && unix.ByteSliceToString(info.Driver[:]) != "tun"
}

func (p *pollClock) open() (err error) {
	p.stamps, err = ebpf.NewMap(&ebpf.MapSpec{Name: "flowdedup", Type: ebpf.PerCPUArray, KeySize: 4, ValueSize: pollEntryLen, MaxEntries: 1})
	if err != nil {
		return err
	}
	program, err := ebpf.NewProgramWithOptions(&ebpf.ProgramSpec{
		Name: "flowdedup", Type: ebpf.RawTracepoint, License: "Apache-2.0", Instructions: p.clear(),
	}, ebpf.ProgramOptions{LogDisabled: true})
	if err != nil {
		return err
	}
	defer program.Close() // the link keeps it
	p.attached, err = link.AttachRawTracepoint(link.RawTracepointOptions{Name: "napi_poll", Program: program})
	return err
}

func (p *pollClock) close() {
	if p == nil {
		return
	}
	if p.attached != nil {
		_ = p.attached.Close() // closes a file descriptor
	}
	if p.stamps != nil {
		_ = p.stamps.Close() // as above
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

// read are instructions that put the stamp of a packet into register 7. They use register
// 8. Without a pollClock the stamp is that of the clock:
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
