package xdp

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"
)

// redirect hands the packets of an interface to sockets, by receive queue. A queue
// without a socket leaves its packets to the host.
type redirect struct {
	sockets  *ebpf.Map
	attached link.Link
	generic  bool // the program runs in the kernel's generic path, not in the driver
}

// attach attaches the program to an interface, without any sockets. split says that it
// sees packets whose bytes do not lie in one piece.
func attach(index int, split bool) (*redirect, error) {
	r := &redirect{}
	err := r.attach(index, split)
	if err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

// maxQueues is how many sockets a program serves.
const maxQueues = 1 << 10

func (r *redirect) attach(index int, split bool) (err error) {
	r.sockets, err = ebpf.NewMap(&ebpf.MapSpec{Name: "flowdedup", Type: ebpf.XSKMap, KeySize: 4, ValueSize: 4, MaxEntries: maxQueues})
	if err != nil {
		return err
	}
	program, err := load(r.sockets, split)
	if err != nil {
		return err
	}
	defer program.Close() // the link keeps it
	options := link.XDPOptions{Program: program, Interface: index, Flags: link.XDPDriverMode}
	r.attached, err = link.AttachXDP(options)
	if err == nil || errors.Is(err, unix.EBUSY) || errors.Is(err, unix.EPERM) {
		return err
	}
	native := err
	options.Flags, r.generic = link.XDPGenericMode, true
	if r.attached, err = link.AttachXDP(options); err != nil {
		return fmt.Errorf("%w (in the driver: %w)", err, native)
	}
	return nil
}

// load loads the program: return bpf_redirect_map(&sockets, ctx->rx_queue_index,
// XDP_PASS). The last argument is what happens without a socket.
func load(sockets *ebpf.Map, split bool) (*ebpf.Program, error) {
	const queueAt, pass = 16, 2 // of struct xdp_md; of enum xdp_action
	spec := &ebpf.ProgramSpec{Name: "flowdedup", Type: ebpf.XDP, License: "Apache-2.0", Instructions: asm.Instructions{
		asm.LoadMem(asm.R2, asm.R1, queueAt, asm.Word),
		asm.LoadMapPtr(asm.R1, sockets.FD()),
		asm.Mov.Imm(asm.R3, pass),
		asm.FnRedirectMap.Call(),
		asm.Return(),
	}}
	if split {
		spec.Flags = unix.BPF_F_XDP_HAS_FRAGS
	}
	return ebpf.NewProgramWithOptions(spec, ebpf.ProgramOptions{LogDisabled: true})
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
}
