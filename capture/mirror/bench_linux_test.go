// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flowdedup/flowdedup/capture"
)

// BenchmarkReceive measures what a packet costs whoever reads: the system calls, the header,
// and the record of a batch. The kernel's work before a datagram waits in the socket is not
// part of it. With "segments" the kernel has coalesced datagrams, as it does if they have a
// checksum.
func BenchmarkReceive(b *testing.B) {
	for _, size := range []int{64, 800, 1400} {
		for _, segments := range []int{1, 40} {
			name := fmt.Sprintf("%d bytes", size)
			if segments > 1 {
				name += ", segments"
			}
			b.Run(name, func(b *testing.B) { receive(b, size, segments) })
		}
	}
}

func receive(b *testing.B, size, segments int) {
	enter(b)
	m := capturing(b, Config{BufferBytes: 256 << 20, Idle: time.Millisecond}, "vxlan://127.0.0.1:4789")
	conn := sender(b, 4789).(*net.UDPConn)
	one := vxlan(7, 1, size-34)
	all := one
	for len(all) < segments*len(one) {
		all = append(all, one...)
	}
	if segments > 1 {
		raw, err := conn.SyscallConn()
		if err != nil {
			b.Fatal(err)
		}
		_ = raw.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_UDP, unix.UDP_SEGMENT, len(one)) })
		if err != nil {
			b.Skip("no UDP_SEGMENT: ", err)
		}
	}
	var batch capture.Batch
	var busy time.Duration
	const atATime = 20_000
	b.ResetTimer()
	for done := 0; done < b.N; {
		b.StopTimer()
		sent := 0
		for ; sent < atATime; sent += segments {
			send(b, conn, all)
		}
		b.StartTimer()
		busy -= threadTime()
		for got := 0; got < sent; got += len(batch.Frames) {
			if err := m.Next(&batch); err != nil && err != io.EOF {
				b.Fatal(err)
			}
		}
		busy += threadTime()
		done += sent
	}
	b.ReportMetric(float64(busy.Nanoseconds())/float64(b.N), "cpu-ns/op")
	b.ReportMetric(float64(b.N)/busy.Seconds()/1e6, "Mpackets/cpu-s")
}

// threadTime returns the time that the thread of the test has had a processor, which others
// may want, too.
func threadTime() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_THREAD, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
