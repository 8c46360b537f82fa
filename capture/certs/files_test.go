// SPDX-License-Identifier: Apache-2.0

package certs_test

import (
	"crypto/tls"
	"errors"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/capture/certs"
	"github.com/flowdedup/flowdedup/capture/certs/certstest"
)

// said collects warnings and news.
type said struct {
	mu  sync.Mutex
	all []string
}

func (s *said) add(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, text)
}

// take returns what was said since the last time.
func (s *said) take() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := strings.Join(s.all, "\n")
	s.all = nil
	return all
}

func load(t *testing.T, cert, key, authority string) (*certs.Files, *said) {
	t.Helper()
	f, err := certs.Load(cert, key, authority)
	if err != nil {
		t.Fatal(err)
	}
	s := &said{}
	f.Warn, f.Log = func(err error) { s.add("warning: " + err.Error()) }, s.add
	return f, s
}

// side loads a new certificate that an authority signs.
func side(t *testing.T, a *certstest.Authority, name string) (*certs.Files, *said) {
	t.Helper()
	cert, key, authority := a.Files(t, name, time.Hour)
	return load(t, cert, key, authority)
}

// meet lets a client connect to a server. It returns the serial number of the server's certificate,
// "" if the handshake failed.
func meet(t *testing.T, server, client *certs.Files) string {
	t.Helper()
	config, err := server.Server(tls.VersionTLS13)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	answer := make(chan error, 1)
	go func() {
		conn, err := l.Accept()
		if err == nil {
			defer conn.Close()
			err = tls.Server(conn, config).Handshake()
		}
		answer <- err
	}()
	conn, err := tls.Dial("tcp", l.Addr().String(), client.Client("127.0.0.1"))
	if refused := <-answer; err != nil || refused != nil {
		return ""
	}
	defer conn.Close()
	return conn.ConnectionState().PeerCertificates[0].SerialNumber.String()
}

func contents(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestRenewal replaces the files of a running server, in turn, by sound and by damaged files.
func TestRenewal(t *testing.T) {
	a := certstest.New(t)
	cert, key, authority := a.Files(t, "node", time.Hour)
	first := [3]string{contents(t, cert), contents(t, key), contents(t, authority)}
	a.Files(t, "node", time.Hour)
	second := [3]string{contents(t, cert), contents(t, key), first[2]}
	a.Files(t, "node", -time.Second)
	expired := [3]string{contents(t, cert), contents(t, key), first[2]}
	cut := func(text string) string { return text[:len(text)/2] }
	set := func(to [3]string) {
		for i, name := range []string{cert, key, authority} {
			write(t, name, to[i])
		}
	}
	for name, c := range map[string]struct {
		present [3]string
		taken   bool
		says    string
	}{
		"nothing":                  {first, false, ""},
		"both":                     {second, true, "TLS: certificates were renewed"},
		"the certificate only":     {[3]string{second[0], first[1], first[2]}, false, "private key does not match public key; the earlier certificates stay"},
		"the key only":             {[3]string{first[0], second[1], first[2]}, false, "private key does not match"},
		"half a certificate":       {[3]string{cut(second[0]), second[1], first[2]}, false, "ends within a block"},
		"half a chain":             {[3]string{second[0] + cut(first[2]), second[1], first[2]}, false, "ends within a block"},
		"half a key":               {[3]string{second[0], cut(second[1]), first[2]}, false, "ends within a block"},
		"half of the authorities":  {[3]string{second[0], second[1], first[2] + cut(first[2])}, false, "ends within a block"},
		"empty files":              {[3]string{}, false, "failed to find any PEM data"},
		"damage":                   {[3]string{strings.ReplaceAll(second[0], "A", "B"), second[1], first[2]}, false, "warning: TLS: certificate"},
		"no authority":             {[3]string{second[0], second[1], ""}, false, "holds no certificate in PEM"},
		"a certificate as its key": {[3]string{second[0], second[0], first[2]}, false, "warning: TLS"},
		"too much":                 {[3]string{second[0] + strings.Repeat("\n", 5<<20), second[1], first[2]}, false, "more than 4 MiB"},
		"one that has expired":     {expired, false, "has expired at"},
	} {
		t.Run(name, func(t *testing.T) {
			set(first)
			server, says := load(t, cert, key, authority)
			client, _ := load(t, cert, key, authority)
			if says.take() != "" {
				t.Error("a warning too early")
			}
			before := meet(t, server, client)
			set(c.present)
			after := meet(t, server, client)
			if before == "" || after == "" || (before != after) != c.taken {
				t.Errorf("certificate %q, then %q", before, after)
			}
			again := meet(t, server, client)
			if got := says.take(); !strings.Contains(got, c.says) || strings.Contains(got, "\n") || (c.says == "") != (got == "") {
				t.Errorf("said: %s", got)
			}
			set(second)
			if renewed := meet(t, server, client); again != after || renewed == before {
				t.Errorf("certificates %s, %s, %s, %s", before, after, again, renewed)
			}
			if server.Failure() != nil {
				t.Error(server.Failure())
			}
		})
	}
}

// TestRemoved removes the files, and puts a folder in the place of a file.
func TestRemoved(t *testing.T) {
	cert, key, authority := certstest.New(t).Files(t, "node", time.Hour)
	server, says := load(t, cert, key, authority)
	client, _ := load(t, cert, key, authority)
	for _, name := range []string{authority, key, cert} {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
		if meet(t, server, client) == "" {
			t.Errorf("refused without %s", name)
		}
		if got := says.take(); !strings.Contains(got, "no such file") && !strings.Contains(got, "cannot find") {
			t.Error(got)
		}
	}
	if err := os.Mkdir(cert, 0o700); err != nil {
		t.Fatal(err)
	}
	if meet(t, server, client) == "" || !strings.Contains(says.take(), "directory") {
		t.Error("a folder")
	}
}

// TestAuthority renews the authority that peers are judged by, of the server and of the client.
func TestAuthority(t *testing.T) {
	a := certstest.New(t)
	server, _ := side(t, a, "node")
	client, _ := side(t, a, "sensor")
	old, err := certs.Load(a.Files(t, "old", time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	if meet(t, server, client) == "" || meet(t, server, old) == "" {
		t.Fatal("refused")
	}
	a.Renew(t)
	a.Files(t, "node", time.Hour)
	if meet(t, server, client) != "" || meet(t, server, old) != "" {
		t.Error("certificates of the earlier authority")
	}
	a.Files(t, "sensor", time.Hour)
	if meet(t, server, client) == "" || meet(t, server, old) != "" {
		t.Error("certificates of the new authority")
	}
}

// TestExpiry follows a certificate to its end, and beyond.
func TestExpiry(t *testing.T) {
	a := certstest.New(t)
	cert, key, authority := a.Files(t, "node", 2*time.Second)
	server, says := load(t, cert, key, authority)
	a.Files(t, "sensor", time.Hour)
	client, _ := load(t, a.Dir+"/sensor.pem", a.Dir+"/sensor.key", authority)
	if meet(t, server, client) == "" || server.Failure() != nil {
		t.Error("refused: ", server.Failure())
	}
	name, at := server.Expiry()
	if name != cert || time.Until(at) > 2*time.Second || says.take() != "" {
		t.Error(name, at, says.all)
	}
	time.Sleep(time.Until(at) + 10*time.Millisecond)
	for range 2 {
		if meet(t, server, client) != "" {
			t.Error("an expired certificate was taken")
		}
	}
	if err := server.Failure(); !errors.Is(err, certs.ErrTLS) || !strings.Contains(err.Error(), cert+" has expired at 20") {
		t.Error(err)
	}
	if got := says.take(); strings.Count(got, "has expired") != 1 {
		t.Error(got)
	}
	late, says := load(t, cert, key, authority)
	if _, err := late.Server(tls.VersionTLS13); err != nil || !strings.Contains(says.take(), "has expired") {
		t.Error("no warning at the start: ", err)
	}
	a.Files(t, "node", time.Hour)
	if meet(t, server, client) == "" || server.Failure() != nil {
		t.Error("not renewed")
	}
	if _, again := server.Expiry(); !again.After(at) {
		t.Error(again)
	}
}

// TestLoad checks errors of the start, and which files mean no TLS.
func TestLoad(t *testing.T) {
	cert, key, authority := certstest.New(t).Files(t, "node", time.Hour)
	f, err := certs.Load("", "", "")
	if f != nil || err != nil || f.Failure() != nil {
		t.Error(f, err)
	}
	if name, _ := f.Expiry(); name != "" {
		t.Error(name)
	}
	for _, c := range [][3]string{{cert, "", ""}, {cert, authority, ""}, {"none", key, ""}, {"", "", key}, {"", "", "none"}, {cert, key, t.TempDir()}} {
		if _, err := certs.Load(c[0], c[1], c[2]); !errors.Is(err, certs.ErrTLS) {
			t.Error(c, err)
		}
	}
	only, _ := load(t, "", "", authority)
	if _, err := only.Server(tls.VersionTLS12); !errors.Is(err, certs.ErrTLS) {
		t.Error(err)
	}
	for _, f := range []*certs.Files{only, {}} {
		if c := f.Client("x"); c.MinVersion < tls.VersionTLS12 || c.InsecureSkipVerify || c.ServerName != "x" || f.Failure() != nil {
			t.Error("weak")
		}
	}
}

// TestTogether renews files while many connect.
func TestTogether(t *testing.T) {
	a := certstest.New(t)
	server, says := side(t, a, "node")
	client, _ := side(t, a, "sensor")
	done := make(chan bool)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					if meet(t, server, client) == "" {
						t.Error("refused")
						return
					}
				}
			}
		})
	}
	for range 20 {
		a.Files(t, "node", time.Hour)
		time.Sleep(5 * time.Millisecond)
	}
	close(done)
	group.Wait()
	server.Failure()
	all := strings.Split(says.take(), "\n")
	if !slices.ContainsFunc(all, func(s string) bool { return strings.HasPrefix(s, "TLS: certificates were renewed") }) {
		t.Error(all)
	}
}
