// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"sync/atomic"
	"testing"
)

// Ports below the range that systems choose from for sockets without one. Processes begin
// apart.
const firstPort, ports = 10_000, 20_000

var portsTaken atomic.Uint32

// FreePort returns a port of the loopback interface that nobody uses now, for TCP and UDP.
// No other program takes it by chance before the test does, no connection that was refused
// there reaches itself, and the next call returns another one.
func FreePort(t testing.TB) string {
	t.Helper()
	for range ports {
		port := strconv.Itoa(firstPort + (os.Getpid()*37+int(portsTaken.Add(1)))%ports)
		streams, err := net.Listen("tcp", "127.0.0.1:"+port)
		if err != nil {
			continue
		}
		datagrams, err := net.ListenPacket("udp", "127.0.0.1:"+port)
		_ = streams.Close() // nobody connected
		if err == nil {
			_ = datagrams.Close() // nothing was read
			return port
		}
	}
	t.Fatal("no port is free")
	return ""
}

// AllowInterrupts makes an interrupt end the programs that are started from now on, even
// if this one was started to ignore it, as shells start background jobs of a script.
func AllowInterrupts() {
	if signal.Ignored(os.Interrupt) {
		signal.Notify(make(chan os.Signal, 1), os.Interrupt)
	}
}

// Build builds programs of this module, whose paths begin with a dot, in a folder that the test
// removes. They need no loader of C, which makes calls of its own.
func Build(t testing.TB, programs ...string) (folder string) {
	t.Helper()
	folder = t.TempDir()
	build := exec.Command("go", append([]string{"build", "-o", folder + "/"}, programs...)...)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return folder
}
