// SPDX-License-Identifier: Apache-2.0

package monitor

import (
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
)

// Notifier reports the run to the service manager that started the process, by the
// protocol of sd_notify(3). It reports readiness with the first status, and sends a
// watchdog message with each status; so the watchdog ends a run that hangs. Its methods are
// for one goroutine at a time.
type Notifier struct {
	conn  net.Conn
	ready bool // it was notified that the run is ready
}

// notifyTimeout is how long a service manager may block a message.
const notifyTimeout = time.Second

// NewNotifier returns a notifier for NOTIFY_SOCKET, nil if the environment has none.
func NewNotifier() (*Notifier, error) {
	name := os.Getenv("NOTIFY_SOCKET")
	if name == "" {
		return nil, nil
	}
	conn, err := net.Dial("unixgram", name)
	if err != nil {
		return nil, fmt.Errorf("NOTIFY_SOCKET: %w", err)
	}
	return &Notifier{conn: conn}, nil
}

// Update reports the next status.
func (n *Notifier) Update(s *Status) {
	_, dropped := atRings(s)
	n.Report(fmt.Sprintf("%s, %s, %s dropped", show.Some(s.PacketsIn, "packet"), show.Some(s.Duplicates, "duplicate"), show.Count(dropped)), s.Stopping)
}

// Report reports a status in words, and whether the run ends.
func (n *Notifier) Report(status string, stopping bool) {
	lines := []string{"WATCHDOG=1", "STATUS=" + status}
	if !n.ready {
		lines = append(lines, "READY=1")
	}
	if stopping {
		lines = append(lines, "STOPPING=1")
	}
	// If messages fail, the service manager acts by itself.
	_ = n.conn.SetWriteDeadline(time.Now().Add(notifyTimeout))
	_, err := n.conn.Write([]byte(strings.Join(lines, "\n")))
	n.ready = n.ready || err == nil
}

// Close ends the connection.
func (n *Notifier) Close() error { return n.conn.Close() }
