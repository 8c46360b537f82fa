// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Generator injects frames into an interface as if its driver had received them, as fast
// as the kernel can take them. It runs an XDP program repeatedly on live frames
// (Documentation/bpf/bpf_prog_run.rst).
type Generator struct {
	counter, program int // file descriptors
	frame            []byte
	context          [6]uint32 // struct xdp_md
}

// NewGenerator makes a generator of frames of n bytes, at least MinFrame, for an
// interface of the calling thread's namespace. It returns an error if the kernel cannot
// do this.
func NewGenerator(name string, n int) (*Generator, error) {
	return newGenerator(name, n, false, 0)
}

// NewPeerGenerator makes a generator that sends its frames out of an interface of a pair:
// the driver of the other end receives them. That driver must have an XDP program, or its
// receive offload (gro).
func NewPeerGenerator(name string, n int) (*Generator, error) {
	return newGenerator(name, n, true, 0)
}

// NewPacedGenerator is NewPeerGenerator with the given rate of frames a second, from
// 10,000 on, or the highest that it reaches. The program waits for the time of each
// frame, so frames come evenly.
func NewPacedGenerator(name string, n, rate int) (*Generator, error) {
	return newGenerator(name, n, true, rate)
}

func newGenerator(name string, n int, send bool, rate int) (*Generator, error) {
	if err := loads(); err != nil {
		return nil, err
	}
	iface, err := net.InterfaceByName(name)
	if err != nil {
		return nil, err
	}
	g := &Generator{counter: -1, program: -1, frame: NewFrame(n), context: [6]uint32{1: uint32(n), 3: uint32(iface.Index)}}
	to := 0
	if send {
		to = iface.Index
	}
	if g.counter, err = makeCounter(); err == nil {
		g.program, err = loadProgram(unix.BPF_PROG_TYPE_XDP, program(g.counter, to, rate))
	}
	if err != nil {
		return nil, errors.Join(err, g.Close())
	}
	return g, nil
}

// makeCounter makes a BPF map with the number of the next frame, and when it is due.
func makeCounter() (int, error) {
	attributes := struct{ kind, keyBytes, valueBytes, entries uint32 }{unix.BPF_MAP_TYPE_ARRAY, 4, 16, 1}
	return bpf("BPF_MAP_CREATE", unix.BPF_MAP_CREATE, unsafe.Pointer(&attributes), unsafe.Sizeof(attributes))
}

func loadProgram(kind uint32, code []uint64) (int, error) {
	var pins runtime.Pinner
	defer pins.Unpin()
	license := []byte("GPL\x00")
	attributes := struct {
		kind, count   uint32
		code, license uint64
	}{kind, uint32(len(code)), address(&pins, &code[0]), address(&pins, &license[0])}
	for tries := 0; ; tries++ {
		// The verifier gives up when the thread gets a signal, as it does now and then
		// from Go's scheduler.
		const mostTries = 10
		fd, err := bpf("BPF_PROG_LOAD", unix.BPF_PROG_LOAD, unsafe.Pointer(&attributes), unsafe.Sizeof(attributes))
		if tries == mostTries || !errors.Is(err, unix.EAGAIN) {
			return fd, err
		}
	}
}

// Run injects the given number of frames, or fewer if a signal interrupts it; see
// Injected. It keeps the calling thread's processor busy.
func (g *Generator) Run(frames int) error {
	const liveFrames = 1 << 1
	var pins runtime.Pinner
	defer pins.Unpin()
	attributes := struct {
		program, result               uint32
		frameBytes, outBytes          uint32
		frame, out                    uint64
		repeat, duration              uint32
		contextBytes, outContextBytes uint32
		context, outContext           uint64
		flags, processor, batch       uint32
	}{
		program: uint32(g.program), frameBytes: uint32(len(g.frame)), frame: address(&pins, &g.frame[0]), repeat: uint32(frames),
		contextBytes: uint32(unsafe.Sizeof(g.context)), context: address(&pins, &g.context), flags: liveFrames,
	}
	_, err := bpf("BPF_PROG_TEST_RUN", unix.BPF_PROG_TEST_RUN, unsafe.Pointer(&attributes), unsafe.Offsetof(attributes.batch)+4)
	if errors.Is(err, unix.EINTR) {
		return nil
	}
	return err
}

// Injected returns how many frames the generator has injected since it was made.
func (g *Generator) Injected() (uint64, error) {
	var pins runtime.Pinner
	defer pins.Unpin()
	key, value := new(uint32), new([2]uint64)
	attributes := struct {
		counter, _ uint32
		key, value uint64
	}{counter: uint32(g.counter), key: address(&pins, key), value: address(&pins, value)}
	_, err := bpf("BPF_MAP_LOOKUP_ELEM", unix.BPF_MAP_LOOKUP_ELEM, unsafe.Pointer(&attributes), unsafe.Sizeof(attributes))
	return value[0], err
}

// Close releases the program and the counter.
func (g *Generator) Close() error {
	var errs []error
	for _, fd := range []int{g.program, g.counter} {
		if fd >= 0 {
			errs = append(errs, os.NewSyscallError("close", unix.Close(fd)))
		}
	}
	g.program, g.counter = -1, -1
	return errors.Join(errs...)
}

// address pins p and returns its address for a system call, since the garbage collector
// does not see the kernel's arguments.
func address[T any](pins *runtime.Pinner, p *T) uint64 {
	pins.Pin(p)
	return uint64(uintptr(unsafe.Pointer(p)))
}

// bpf is the system call. x/sys only has its numbers.
func bpf(name string, command uintptr, attributes unsafe.Pointer, size uintptr) (int, error) {
	fd, _, errno := unix.Syscall(unix.SYS_BPF, command, uintptr(attributes), size)
	if errno != 0 {
		return -1, fmt.Errorf("bpf %s: %w", name, errno)
	}
	return int(fd), nil
}

// instruction encodes an eBPF instruction.
func instruction(code, dst, src uint8, offset int16, value int32) uint64 {
	return uint64(code) | uint64(dst)<<8 | uint64(src)<<12 | uint64(uint16(offset))<<16 | uint64(uint32(value))<<32
}

// Codes of instructions.
const (
	load32, load64, loadImmediate      = 0x61, 0x79, 0x18
	store8, store16, store64           = 0x73, 0x6B, 0x7B
	move, set, add, and, modulo, shift = 0xBF, 0xB7, 0x07, 0x57, 0x97, 0x77
	multiply32                         = 0x24
	unless, below, above, call, exit   = 0x55, 0xA5, 0x2D, 0x85, 0x95
	atLeast                            = 0x3D
)

const mapValue = 2 // BPF_PSEUDO_MAP_VALUE

// program turns each frame into the next one of the traffic, as Renumber does, and passes
// it on, or sends it out of interface to if that is not 0. It keeps to a rate if that is
// not 0. The counter lies in a map. Register 6 holds the frame, 1 the counter, 2 the
// number; 0 and 3 are scratch registers.
func program(counter, to, rate int) []uint64 {
	const (
		pass                               = 2 // XDP_PASS
		context, frame, end, count, number = 1, 6, 7, 1, 2
		result, scratch, data, dataEnd     = 0, 3, 0, 4 // of struct xdp_md, the last two
	)
	forward := []uint64{instruction(set, result, 0, 0, pass), instruction(exit, 0, 0, 0, 0)}
	if to != 0 {
		forward = sending(to)
	}
	return slices.Concat(pacing(counter, rate), []uint64{
		instruction(load32, frame, context, data, 0),
		instruction(load32, end, context, dataEnd, 0),
		instruction(move, scratch, frame, 0, 0),
		instruction(add, scratch, 0, 0, MinFrame),
		instruction(above, scratch, end, 18, 0), // to the code after these
		instruction(loadImmediate, count, mapValue, 0, int32(counter)),
		instruction(0, 0, 0, 0, 0),
		instruction(load64, number, count, 0, 0),
		instruction(move, scratch, number, 0, 0),
		instruction(add, scratch, 0, 0, 1),
		instruction(store64, count, scratch, 0, 0),
		instruction(move, scratch, number, 0, 0),
		instruction(modulo, scratch, 0, 0, repeatEvery),
		instruction(unless, scratch, 0, 2, repeatEvery-1),
		instruction(below, number, 0, 1, repeatBehind),
		instruction(add, number, 0, 0, -repeatBehind),
		instruction(store64, frame, number, numberAt, 0),
		instruction(multiply32, number, 0, 0, scatter),
		instruction(store16, frame, number, sourceAt, 0),
		instruction(store8, frame, number, destinationAt, 0),
		instruction(shift, number, 0, 0, 16),
		instruction(and, number, 0, 0, Flows/sourceAddresses-1),
		instruction(store8, frame, number, portAt, 0),
	}, forward)
}

// pacing waits until a frame is due, and notes when the next one is. It makes up for up to
// 100 µs in which it did not run. Register 9 holds the context, 8 the map's value, 7 how
// often it still looks at the clock, since the kernel takes no loop without a bound.
func pacing(counter, rate int) []uint64 {
	if rate == 0 {
		return nil
	}
	const (
		context, value, looks, now, due = 9, 8, 7, 0, 1
		dueAt                           = 8
		getTime                         = 5 // bpf_ktime_get_ns
		mostLooks, slack                = 1 << 11, 100_000
	)
	return []uint64{
		instruction(move, context, 1, 0, 0),
		instruction(loadImmediate, value, mapValue, 0, int32(counter)),
		instruction(0, 0, 0, 0, 0),
		instruction(set, looks, 0, 0, mostLooks),
		instruction(call, 0, 0, 0, getTime),
		instruction(load64, due, value, dueAt, 0),
		instruction(atLeast, now, due, 2, 0), // to the code after the loop
		instruction(add, looks, 0, 0, -1),
		instruction(unless, looks, 0, -5, 0), // to the call
		instruction(add, now, 0, 0, -slack),
		instruction(atLeast, due, now, 1, 0),
		instruction(move, due, now, 0, 0),
		instruction(add, due, 0, 0, int32(1_000_000_000/rate)),
		instruction(store64, value, due, dueAt, 0),
		instruction(move, 1, context, 0, 0),
	}
}

// probe names the environment variable that makes a program with this package load an XDP
// program and exit.
const probe = "FLOWDEDUP_LAB_PROBE"

func init() {
	if os.Getenv(probe) == "" {
		return
	}
	if err := load(); err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

func load() error {
	counter, err := makeCounter()
	if err != nil {
		return err
	}
	fd, err := loadProgram(unix.BPF_PROG_TYPE_XDP, program(counter, 0, 0))
	if err != nil {
		return err
	}
	return errors.Join(unix.Close(fd), unix.Close(counter))
}

// loads returns why the kernel loads no programs, or nil. A kernel whose memory for
// programs is inconsistent neither loads one nor ends the process that asked. So a
// separate process asks, and is abandoned if it hangs.
var loads = sync.OnceValue(func() error {
	c := exec.Command("/proc/self/exe")
	c.Env = append(os.Environ(), probe+"=1")
	if err := c.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	select {
	case err := <-ended:
		if err != nil {
			return errors.New("the kernel loads no XDP programs")
		}
		return nil
	case <-time.After(10 * time.Second):
		return errors.New("the kernel hangs on loading an XDP program")
	}
})
