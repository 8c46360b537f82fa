package lab

import (
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Generator injects frames into an interface as if its driver had received them, as
// fast as the kernel can take them: it runs an XDP program again and again on live
// frames (Documentation/bpf/bpf_prog_run.rst).
type Generator struct {
	counter, program int // file descriptors
	frame            []byte
	context          [6]uint32 // struct xdp_md
}

// NewGenerator makes a generator of frames of n bytes, at least MinFrame, for an
// interface of the calling thread's namespace. An error may say that the kernel cannot
// do that.
func NewGenerator(name string, n int) (*Generator, error) {
	if err := loads(); err != nil {
		return nil, err
	}
	iface, err := net.InterfaceByName(name)
	if err != nil {
		return nil, err
	}
	g := &Generator{counter: -1, program: -1, frame: NewFrame(n), context: [6]uint32{1: uint32(n), 3: uint32(iface.Index)}}
	if g.counter, err = makeCounter(); err == nil {
		g.program, err = loadProgram(unix.BPF_PROG_TYPE_XDP, program(g.counter))
	}
	if err != nil {
		return nil, errors.Join(err, g.Close())
	}
	return g, nil
}

// makeCounter makes a map of one number.
func makeCounter() (int, error) {
	attributes := struct{ kind, keyBytes, valueBytes, entries uint32 }{unix.BPF_MAP_TYPE_ARRAY, 4, 8, 1}
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

// Run injects so many frames, or fewer if a signal interrupts it: Injected tells. It
// takes the calling thread's processor for itself.
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
	key, value := new(uint32), new(uint64)
	attributes := struct {
		counter, _ uint32
		key, value uint64
	}{counter: uint32(g.counter), key: address(&pins, key), value: address(&pins, value)}
	_, err := bpf("BPF_MAP_LOOKUP_ELEM", unix.BPF_MAP_LOOKUP_ELEM, unsafe.Pointer(&attributes), unsafe.Sizeof(attributes))
	return *value, err
}

// Close gives the program and the counter back to the kernel.
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

// address is for the kernel, to whose arguments the collector does not look.
func address[T any](pins *runtime.Pinner, p *T) uint64 {
	pins.Pin(p)
	return uint64(uintptr(unsafe.Pointer(p)))
}

// bpf is the system call, of which x/sys has only the numbers.
func bpf(name string, command uintptr, attributes unsafe.Pointer, size uintptr) (int, error) {
	fd, _, errno := unix.Syscall(unix.SYS_BPF, command, uintptr(attributes), size)
	if errno != 0 {
		return -1, fmt.Errorf("bpf %s: %w", name, errno)
	}
	return int(fd), nil
}
