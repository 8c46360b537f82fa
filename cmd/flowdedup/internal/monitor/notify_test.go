// SPDX-License-Identifier: Apache-2.0

package monitor

import (
	"net"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/bench/lab/wait"
	"github.com/flowdedup/flowdedup/capture/afpacket"
)

// TestNotifier receives the messages of a run as a service manager does, at a socket with
// and without a file.
func TestNotifier(t *testing.T) {
	names := []string{filepath.Join(t.TempDir(), "notify")}
	if runtime.GOOS == "linux" {
		names = append(names, "@flowdedup-test-"+filepath.Base(t.TempDir()))
	}
	for _, name := range names {
		manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
		if err != nil {
			t.Skip("no such sockets: ", err)
		}
		defer manager.Close()
		t.Setenv("NOTIFY_SOCKET", name)
		n, err := NewNotifier()
		if err != nil {
			t.Fatal(err)
		}
		heard := func() []string {
			t.Helper()
			buf := make([]byte, 4096)
			_ = manager.SetReadDeadline(time.Now().Add(wait.Timeout))
			size, err := manager.Read(buf)
			if err != nil {
				t.Fatal(err)
			}
			return strings.Split(string(buf[:size]), "\n")
		}
		s := &Status{Rings: []afpacket.Stats{{Dropped: 2}, {Dropped: 3}}}
		s.PacketsIn, s.Duplicates = 1234, 5
		const text = "STATUS=1,234 packets, 5 duplicates, 5 dropped"
		n.Update(s)
		if got := heard(); !slices.Equal(got, []string{"WATCHDOG=1", text, "READY=1"}) {
			t.Errorf("%q", got)
		}
		n.Update(s)
		if got := heard(); !slices.Equal(got, []string{"WATCHDOG=1", text}) {
			t.Errorf("%q", got)
		}
		s.Stopping = true
		n.Update(s)
		if got := heard(); !slices.Equal(got, []string{"WATCHDOG=1", text, "STOPPING=1"}) {
			t.Errorf("%q", got)
		}
		n.Report("1,234 records", false)
		if got := heard(); !slices.Equal(got, []string{"WATCHDOG=1", "STATUS=1,234 records"}) {
			t.Errorf("%q", got)
		}
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestNoNotifier runs without a service manager.
func TestNoNotifier(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", "")
	if n, err := NewNotifier(); n != nil || err != nil {
		t.Errorf("%v, %v", n, err)
	}
	t.Setenv("NOTIFY_SOCKET", filepath.Join(t.TempDir(), "nope"))
	if _, err := NewNotifier(); err == nil || !strings.HasPrefix(err.Error(), "NOTIFY_SOCKET: ") {
		t.Error(err)
	}
}
