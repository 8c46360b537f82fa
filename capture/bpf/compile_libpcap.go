//go:build libpcap

package bpf

/*
#cgo LDFLAGS: -lpcap
#define _GNU_SOURCE
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
*/
import "C"

import (
	"context"
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/net/bpf"
)

// compileFile has libpcap compile for a capture file, which it reads from memory.
func compileFile(_ context.Context, expr string, header []byte) ([]bpf.RawInstruction, error) {
	memory := C.CBytes(header)
	defer C.free(memory)
	mode := C.CString("rb")
	defer C.free(unsafe.Pointer(mode))
	file := C.fmemopen(memory, C.size_t(len(header)), mode)
	if file == nil {
		return nil, errors.New("compile the filter with libpcap: no memory")
	}
	var text [C.PCAP_ERRBUF_SIZE]C.char
	handle := C.pcap_fopen_offline(file, &text[0])
	if handle == nil {
		C.fclose(file)
		return nil, wrongExpression("libpcap", C.GoString(&text[0]))
	}
	defer C.pcap_close(handle)          // and the file
	return compileWith(handle, expr, 0) // the mask of tcpdump -r
}

// compileLive has libpcap compile for an interface, which it opens for that.
func compileLive(_ context.Context, expr, link string, snaplen int, iface string) ([]bpf.RawInstruction, error) {
	name, linkName := C.CString(iface), C.CString(link)
	defer C.free(unsafe.Pointer(name))
	defer C.free(unsafe.Pointer(linkName))
	var text [C.PCAP_ERRBUF_SIZE]C.char
	handle := C.pcap_create(name, &text[0])
	if handle == nil {
		return nil, fmt.Errorf("compile the filter with libpcap: %s: %s", iface, C.GoString(&text[0]))
	}
	defer C.pcap_close(handle)
	C.pcap_set_snaplen(handle, C.int(snaplen))
	if C.pcap_activate(handle) < 0 || C.pcap_set_datalink(handle, C.pcap_datalink_name_to_val(linkName)) < 0 {
		return nil, fmt.Errorf("compile the filter with libpcap: %s: %s", iface, C.GoString(C.pcap_geterr(handle)))
	}
	return compileWith(handle, expr, netmask(name))
}

// netmask returns the mask of an interface's IPv4 network, if it has one.
func netmask(iface *C.char) C.bpf_u_int32 {
	var text [C.PCAP_ERRBUF_SIZE]C.char
	var network, mask C.bpf_u_int32
	if C.pcap_lookupnet(iface, &network, &mask, &text[0]) < 0 {
		return 0 // as for tcpdump -i
	}
	return mask
}

// compileWith compiles for what the handle has open.
func compileWith(handle *C.pcap_t, expr string, mask C.bpf_u_int32) ([]bpf.RawInstruction, error) {
	source := C.CString(expr)
	defer C.free(unsafe.Pointer(source))
	var compiled C.struct_bpf_program
	if C.pcap_compile(handle, &compiled, source, 1, mask) < 0 {
		return nil, wrongExpression("libpcap", C.GoString(C.pcap_geterr(handle)))
	}
	defer C.pcap_freecode(&compiled)
	program := make([]bpf.RawInstruction, 0, compiled.bf_len)
	for _, ins := range unsafe.Slice(compiled.bf_insns, compiled.bf_len) {
		program = append(program, bpf.RawInstruction{
			Op: uint16(ins.code), Jt: uint8(ins.jt), Jf: uint8(ins.jf), K: uint32(ins.k),
		})
	}
	return program, nil
}
