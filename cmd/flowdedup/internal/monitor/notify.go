package monitor

import (
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/live"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
)

// Notifier tells the service manager that started the process how the run is, as
// sd_notify(3) has it: that it is ready, once there is a status, and with each status
// that it is alive. So a run that stands still is one whose watchdog ends. Its methods
// are for one goroutine at a time.
type Notifier struct {
	conn  net.Conn
	ready bool // it was told
}

// notifyTimeout is how long a service manager may take to read.
const notifyTimeout = time.Second

// NewNotifier returns what reports to NOTIFY_SOCKET, nil if there is none in the
// environment.
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

// Update tells of the next status.
func (n *Notifier) Update(s *live.Status) {
	_, dropped := atRings(s)
	told := []string{"WATCHDOG=1", fmt.Sprintf("STATUS=%s packets, %s duplicates, %s dropped", show.Count(s.PacketsIn), show.Count(s.Duplicates), show.Count(dropped))}
	if !n.ready {
		told = append(told, "READY=1")
	}
	if s.Stopping {
		told = append(told, "STOPPING=1")
	}
	// A service manager that does not hear of the run does something about it.
	_ = n.conn.SetWriteDeadline(time.Now().Add(notifyTimeout))
	_, err := n.conn.Write([]byte(strings.Join(told, "\n")))
	n.ready = n.ready || err == nil
}

// Close ends the connection.
func (n *Notifier) Close() error { return n.conn.Close() }
