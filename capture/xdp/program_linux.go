// SPDX-License-Identifier: Apache-2.0

package xdp

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
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
	refusal  string     // why, if the driver has said it
	stamps   bool       // the program notes the time, for which Linux 6.1 is needed
	polls    *pollClock // nil if it reads the clock for each packet
	tags     bool       // and asks the driver for VLAN tags that it has taken off (Linux 6.8)
	cards    bool       // and for the time of the network card (Linux 6.3)
	tag      int32      // the kernel function for tags; 0 until it is looked for
	card     int32      // the kernel function for the card's time; 0 until it is looked for
}

// attach attaches the program to an interface, without any sockets. split says that packets may
// be spread over several frames of memory, and cards that times of the network card are wanted.
func attach(dev *sockets.Device, split, cards bool) (*redirect, error) {
	r := &redirect{polls: newPollClock(dev.Driver)}
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
	// Functions that the kernel or the driver lacks are left out.
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

// bind loads the program and attaches it, in place of the program that is attached. A program that
// asks the driver belongs to a single interface.
func (r *redirect) bind(index int, split bool) error {
	spec := &ebpf.ProgramSpec{Name: "flowdedup", Type: ebpf.XDP, License: kernelLicence}
	mode := link.XDPDriverMode
	if r.generic {
		mode = link.XDPGenericMode
	}
	if split {
		spec.Flags |= unix.BPF_F_XDP_HAS_FRAGS
	}
	for _, f := range []struct {
		wanted bool
		name   string
		id     *int32
	}{{r.tags, "bpf_xdp_metadata_rx_vlan_tag", &r.tag}, {r.cards, "bpf_xdp_metadata_rx_timestamp", &r.card}} {
		if !f.wanted {
			continue
		}
		if err := findKernelFunction(f.name, f.id); err != nil {
			return err
		}
		spec.Flags |= unix.BPF_F_XDP_DEV_BOUND_ONLY
		spec.Ifindex = uint32(index)
	}
	n := notes{stamps: r.stamps, polls: r.polls}
	if r.tags {
		n.tag = r.tag
	}
	if r.cards {
		n.card = r.card
	}
	spec.Instructions = n.instructions(r.sockets.FD())
	program, err := ebpf.NewProgramWithOptions(spec, ebpf.ProgramOptions{LogDisabled: true})
	if err != nil {
		return err
	}
	defer program.Close() // the link keeps it
	if r.attached != nil {
		return r.attached.Update(program)
	}
	r.attached, err = link.AttachXDP(link.XDPOptions{Program: program, Interface: index, Flags: mode})
	if plain := !r.stamps && !r.tags; err != nil && !r.generic && plain {
		r.refusal = "the driver runs no XDP programs"
		if !errors.Is(err, unix.EOPNOTSUPP) {
			r.refusal = fmt.Sprintf("the driver refuses the XDP program (%s)", cmp.Or(sockets.Refusal(index, program.FD()), err.Error()))
		}
	}
	return err
}

// findKernelFunction finds the number by which programs call a function of the kernel, unless it is known.
func findKernelFunction(name string, number *int32) error {
	if *number != 0 {
		return nil
	}
	kernel, err := btf.LoadKernelSpec()
	if err != nil {
		return err
	}
	var f *btf.Func
	if err := kernel.TypeByName(name, &f); err != nil {
		return err
	}
	id, err := kernel.TypeID(f)
	*number = int32(id)
	return err
}

// start hands the packets of a queue to a socket.
func (r *redirect) start(queue, socket int) error {
	return r.sockets.Put(uint32(queue), uint32(socket))
}

// pause leaves the packets of all queues to the host.
func (r *redirect) pause(queues int) error {
	for i := range queues {
		if err := r.sockets.Delete(uint32(i)); err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
			return err
		}
	}
	return nil
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
