package ring

import (
	"net"
	"runtime"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// generator injects frames into an interface as if its driver had received them, as
// fast as the kernel can take them: it runs an XDP program again and again on live
// frames (Documentation/bpf/bpf_prog_run.rst). The program gives each frame another
// source and other ports.
type generator struct {
	program int
	frame   []byte
	context [6]uint32 // struct xdp_md
}

// instruction encodes one of eBPF.
func instruction(code, dst, src uint8, offset int16, value int32) uint64 {
	return uint64(code) | uint64(dst)<<8 | uint64(src)<<12 | uint64(uint16(offset))<<16 | uint64(uint32(value))<<32
}

// program of the generator: registers 6 and 7 are the frame and its end.
func xdpProgram() []uint64 {
	const (
		load, store, move, set, add, and, above, call, exit = 0x61, 0x63, 0xBF, 0xB7, 0x07, 0x57, 0x2D, 0x85, 0x95
		random, pass, sources                               = 7, 2, 0xFFFF
	)
	return []uint64{
		instruction(load, 6, 1, 0, 0),
		instruction(load, 7, 1, 4, 0),
		instruction(move, 8, 6, 0, 0),
		instruction(add, 8, 0, 0, 46),
		instruction(above, 8, 7, 5, 0),
		instruction(call, 0, 0, 0, random),
		instruction(and, 0, 0, 0, sources),
		instruction(store, 6, 0, 28, 0),
		instruction(call, 0, 0, 0, random),
		instruction(store, 6, 0, 34, 0),
		instruction(set, 0, 0, 0, pass),
		instruction(exit, 0, 0, 0, 0),
	}
}

// newGenerator makes a generator of IPv4 frames of n bytes on an interface of the
// calling thread's namespace.
func newGenerator(t testing.TB, name string, n int) *generator {
	t.Helper()
	iface, err := net.InterfaceByName(name)
	if err != nil {
		t.Fatal(err)
	}
	code, license := xdpProgram(), []byte("GPL\x00")
	attributes := struct {
		kind, count        uint32
		code, license      uint64
		logLevel, logBytes uint32
		log                uint64
		version, flags     uint32
	}{kind: unix.BPF_PROG_TYPE_XDP, count: uint32(len(code)), code: address(&code[0]), license: address(&license[0])}
	program, _, errno := unix.Syscall(unix.SYS_BPF, unix.BPF_PROG_LOAD, uintptr(unsafe.Pointer(&attributes)), unsafe.Sizeof(attributes))
	runtime.KeepAlive(code)
	runtime.KeepAlive(license)
	if errno != 0 {
		t.Skip("no XDP program: ", errno)
	}
	t.Cleanup(func() { _ = unix.Close(int(program)) })
	g := &generator{program: int(program), frame: flows(1)[0]}
	g.frame = append(g.frame, make([]byte, max(n-len(g.frame), 0))...)[:n]
	g.context = [6]uint32{1: uint32(n), 3: uint32(iface.Index)}
	return g
}

func address[T any](p *T) uint64 { return uint64(uintptr(unsafe.Pointer(p))) }

// run injects so many frames, or fewer if it is interrupted by a signal.
func (g *generator) run(t testing.TB, frames int) {
	t.Helper()
	const liveFrames = 1 << 1
	attributes := struct {
		program, result                   uint32
		frameBytes, outBytes              uint32
		frame, out                        uint64
		repeat, duration                  uint32
		contextBytes, outContextBytes     uint32
		context, outContext               uint64
		flags, processor, batch, reserved uint32
	}{
		program: uint32(g.program), frameBytes: uint32(len(g.frame)), frame: address(&g.frame[0]), repeat: uint32(frames),
		contextBytes: uint32(unsafe.Sizeof(g.context)), context: address(&g.context), flags: liveFrames,
	}
	_, _, errno := unix.Syscall(unix.SYS_BPF, unix.BPF_PROG_TEST_RUN, uintptr(unsafe.Pointer(&attributes)), unsafe.Sizeof(attributes)-4)
	runtime.KeepAlive(g)
	if errno == unix.EINVAL || errno == unix.EOPNOTSUPP {
		t.Skip("no live XDP frames: ", errno)
	}
	if errno != 0 && errno != unix.EINTR {
		t.Fatal(errno)
	}
}
