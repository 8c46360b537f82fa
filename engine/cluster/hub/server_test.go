// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/capture/certs"
	"github.com/flowdedup/flowdedup/capture/certs/certstest"
)

// keptWarnings keeps warnings.
type keptWarnings struct {
	mu    sync.Mutex
	lines []string
}

func (*keptWarnings) Log(string) {}

func (k *keptWarnings) Warn(text string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.lines = append(k.lines, text)
}

func (k *keptWarnings) all() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.lines)
}

// TestServerLog has a server log the same again and again.
func TestServerLog(t *testing.T) {
	var k keptWarnings
	l := newServerLog(&k)
	for range 3 {
		l.warn("disk 1")
		l.warn("disk 2")
	}
	if want := []string{"NATS: disk 1", "NATS: disk 2"}; !slices.Equal(k.lines, want) {
		t.Errorf("%q, want %q", k.lines, want)
	}
	clock := time.Now()
	l.now = func() time.Time { return clock }
	for i := range 10 * maxLogged {
		l.warn(strconv.Itoa(i))
	}
	if len(l.logged) > maxLogged || len(k.lines) != maxLogged {
		t.Errorf("%d remembered, %d lines", len(l.logged), len(k.lines))
	}
	clock = clock.Add(time.Minute)
	l.warn("a subject with \x1b[2J\n")
	if want := []string{"578 more warnings", "NATS: a subject with ?[2J?"}; !slices.Equal(k.lines[maxLogged:], want) {
		t.Errorf("%q, want %q", k.lines[maxLogged:], want)
	}
}

// TestOldServer refuses a NATS server that lacks features that hubs need.
func TestOldServer(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		c, err := listener.Accept()
		if err != nil {
			return
		}
		fmt.Fprint(c, "INFO {\"server_id\":\"x\",\"version\":\"2.9.10\",\"max_payload\":1048576,\"nonce\":\"abc\",\"headers\":true}\r\n")
		for lines := bufio.NewScanner(c); lines.Scan(); {
			if lines.Text() == "PING" {
				fmt.Fprint(c, "PONG\r\n")
			}
		}
	}()
	folder, settings, err := MakeFolder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	_, err = Start(Config{Name: "x", URL: "nats://" + listener.Addr().String(), Folder: folder, Settings: settings, Log: newTestLog(t), Memory: 1 << 20, Limit: 1 << 20})
	if !errors.Is(err, ErrVersion) || strings.Contains(err.Error(), "\n") {
		t.Error(err)
	}
}

// TestPortTaken says so in one line.
func TestPortTaken(t *testing.T) {
	l := newLab(t, nil)
	s := l.settings
	s.Listen = strings.TrimPrefix(l.server.URL(), "nats://")
	if _, err := StartServer(l.folder, s, nil, newTestLog(t)); !errors.Is(err, ErrServer) || !strings.Contains(err.Error(), "in use") {
		t.Error(err)
	}
}

// TestRenewedCertificate connects to a server before and after its certificate, and the authority
// that has signed it, are others.
func TestRenewedCertificate(t *testing.T) {
	folder, s, err := MakeFolder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	authority := certstest.New(t)
	cert, key, _ := authority.Files(t, "node", time.Hour)
	files, err := certs.Load(cert, key, "")
	if err != nil {
		t.Fatal(err)
	}
	config, err := files.Server(tls.VersionTLS13)
	if err != nil {
		t.Fatal(err)
	}
	s.Listen, s.URL = "127.0.0.1:0", "nats://127.0.0.1"
	server, err := StartServer(folder, s, config, newTestLog(t))
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	seed, err := folder.hubSeed()
	if err != nil {
		t.Fatal(err)
	}
	reach := func() error {
		conn, err := connect(server.URL(), "test", seed, newTestLog(t), s.trust())
		if err == nil {
			conn.Close()
		}
		return err
	}
	trust := func() {
		text, err := os.ReadFile(filepath.Join(authority.Dir, "ca.pem"))
		if err != nil {
			t.Fatal(err)
		}
		s.CA = string(text)
	}
	trust()
	if err := reach(); err != nil {
		t.Error(err)
	}
	authority.Renew(t)
	authority.Files(t, "node", time.Hour)
	if err := reach(); err == nil || !strings.Contains(err.Error(), "unknown authority") {
		t.Errorf("by the earlier authority: %v", err)
	}
	trust()
	if err := reach(); err != nil {
		t.Error(err)
	}
}
