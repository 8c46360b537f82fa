// SPDX-License-Identifier: Apache-2.0

package clitest

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/bench/lab/wait"
)

// States of sockets in /proc/net/tcp.
const (
	Listening   = "0A"
	Established = "01"
)

// AwaitSocket waits for a socket of a local port in a state.
func AwaitSocket(t *testing.T, port, state string) {
	t.Helper()
	AwaitSockets(t, port, state, 1)
}

// AwaitSockets waits for count sockets of a local port in a state. A connection counts once a
// program has accepted it.
func AwaitSockets(t *testing.T, port, state string, count int) {
	t.Helper()
	wait.Until(t, fmt.Sprintf("%d sockets of port %s in state %s", count, port, state), func() bool {
		found := 0
		for _, f := range sockets(t, port) {
			// The kernel's end of a connection has no inode until the program accepts it.
			if f[3] == state && f[9] != "0" {
				found++
			}
		}
		return found >= count
	})
}

// SendTogether sends captures to a program that listens, each over a connection of its own. It
// connects all before it sends: a program may take a later peer for too late to be merged.
func SendTogether(t *testing.T, port string, names []string) {
	t.Helper()
	var conns []net.Conn
	for range names {
		conns = append(conns, Dialled(t, port))
	}
	AwaitSockets(t, port, Established, len(names))
	for i, name := range names {
		data := ReadFile(t, name)
		go func() {
			_, _ = conns[i].Write(data)
			conns[i].Close()
		}()
	}
}

// sockets returns the TCP sockets at a local port, each with the fields of its line in the
// kernel's table.
func sockets(t *testing.T, port string) (found [][]string) {
	t.Helper()
	number, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	// Not /proc/net: the first thread of the process may be in the namespace of another test.
	all := ReadFile(t, "/proc/thread-self/net/tcp")
	local := fmt.Sprintf(":%04X", number)
	for line := range strings.Lines(string(all)) {
		if f := strings.Fields(line); len(f) > 9 && strings.HasSuffix(f[1], local) {
			found = append(found, f)
		}
	}
	return found
}
