// SPDX-License-Identifier: Apache-2.0

package web

import (
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/web/webtest"
)

// sample is a content.
func sample() Content {
	return Content{
		Page: func(w io.Writer, paused bool) error {
			text := "<p>a page</p>"
			if paused {
				text += "paused"
			}
			_, err := io.WriteString(w, text)
			return err
		},
		Refresh: 5 * time.Second, Health: func() Health { return HealthAt(time.Now(), nil) },
		Metrics: func(w io.Writer) error {
			return WriteMetrics(w, []Metric[int]{{"flowdedup_x", "X.", Gauge, nil, func(n int, give func(float64, ...string)) { give(float64(n)) }}}, 7)
		},
		Status: func() any { return []int{1, 2} },
	}
}

func serve(t *testing.T, addr string) *Server {
	t.Helper()
	s, err := Listen(addr, "", sample())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// TestAttack attacks a server as pages and programs from elsewhere can.
func TestAttack(t *testing.T) {
	webtest.Attack(t, serve(t, "0").Addr(), "<p>a page</p>", "/status.json")
}

func TestListen(t *testing.T) {
	s, err := Listen("127.0.0.1:0", "", sample())
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"/": "<p>a page</p>", "/?paused": "<p>a page</p>paused", "/metrics": "flowdedup_x 7\n# HELP go_build_info", "/healthz": `{"status":"ok","age_ns":0}` + "\n", "/status.json": "[1,2]\n",
	} {
		answer, err := http.Get("http://" + s.Addr().String() + path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil || !strings.Contains(string(body), want) {
			t.Errorf("%s: no %q in %q, %v", path, want, body, err)
		}
		if refresh := answer.Header.Get("Refresh"); (path == "/") != (refresh == "5") {
			t.Errorf("%s: Refresh %q", path, refresh)
		}
	}
	if _, err := Listen(s.Addr().String(), "", sample()); !errors.Is(err, syscall.EADDRINUSE) ||
		!strings.Contains(err.Error(), s.Addr().String()) || strings.Contains(err.Error(), "\n") {
		t.Errorf("busy port: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if c, err := net.Dial("tcp", s.Addr().String()); err == nil {
		c.Close()
		t.Error("the port is still open")
	}
}

// TestAddress checks that loopback is the default host.
func TestAddress(t *testing.T) {
	for addr, want := range map[string]string{
		"9469": "127.0.0.1:9469", ":9469": "127.0.0.1:9469", ":0": "127.0.0.1:0",
		"localhost:9469": "localhost:9469", "0.0.0.0:9469": "0.0.0.0:9469", "[::1]:9469": "[::1]:9469",
		"[::]:9469": "[::]:9469", "192.0.2.1:80": "192.0.2.1:80",
		"": "", "localhost": "", "127.0.0.1": "", "::1": "", ":http": "", ":": "", "-1": "", "65536": "", "a:b:c": "",
		"99999999999999999999999": "",
	} {
		got, err := address(addr)
		if got != want || (want == "") != errors.Is(err, ErrAddress) {
			t.Errorf("%q: %q, %v; want %q", addr, got, err, want)
		}
	}
	if _, err := Listen("nowhere", "", Content{}); !errors.Is(err, ErrAddress) || !strings.Contains(err.Error(), `--http "nowhere"`) {
		t.Errorf("%v", err)
	}
}

// TestHosts checks that connections to loopback are answered only for names that no other
// host can have, and others for any name.
func TestHosts(t *testing.T) {
	for host, known := range map[string]bool{
		"127.0.0.1:9469": true, "127.0.0.1": true, "[::1]:9469": true, "[::1]": true, "[fe80::1%25lo]:80": true, "192.0.2.1:80": true,
		"localhost:9469": true, "LocalHost.": true, "sensor7:9469": true, "SENSOR7": true, "": true,
		"example.com:9469": false, "example.com": false, "localhost.example.com": false, "127.0.0.1.example.com": false,
		"sensor7.example.com": false, "127.1": false, "2130706433": false, "[example.com]": false,
	} {
		if got := ours(hostOf(host), hostOf("sensor7:9469")); got != known {
			t.Errorf("%q: %v", host, got)
		}
	}
	ask := func(addr string) int {
		r, err := http.NewRequest("GET", "http://"+addr+"/metrics", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = "rebound.example.com"
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		return answer.StatusCode
	}
	// A server on all addresses knows none of its names, except the names of loopback.
	_, port, err := net.SplitHostPort(serve(t, "0.0.0.0:0").Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if code := ask("127.0.0.1:" + port); code != http.StatusMisdirectedRequest {
		t.Errorf("over loopback: %d", code)
	}
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && !n.IP.IsLoopback() {
			if code := ask(net.JoinHostPort(n.IP.String(), port)); code != http.StatusOK {
				t.Errorf("over %v: %d", n.IP, code)
			}
		}
	}
}

// TestLimited checks that requests above the limit are rejected, and later ones are
// answered.
func TestLimited(t *testing.T) {
	enter, leave := make(chan struct{}), make(chan struct{})
	h := limitConcurrency(func(http.ResponseWriter, *http.Request) {
		enter <- struct{}{}
		<-leave
	})
	ask := func() int {
		w := httptest.NewRecorder()
		h(w, httptest.NewRequest("GET", "/", nil))
		return w.Code
	}
	for range 2 {
		codes := make(chan int)
		for range maxConcurrent {
			go func() { codes <- ask() }()
			<-enter
		}
		if code := ask(); code != http.StatusServiceUnavailable {
			t.Errorf("one too many: %d", code)
		}
		for range maxConcurrent {
			leave <- struct{}{}
			if code := <-codes; code != http.StatusOK {
				t.Errorf("%d", code)
			}
		}
	}
}

// TestConnections has the oldest connection of the host that has most of them leave, unless
// it is being answered.
func TestConnections(t *testing.T) {
	c := new(connections)
	var all []*fakeConn
	come := func(host string) *fakeConn {
		conn := &fakeConn{host: host}
		all = append(all, conn)
		c.begin(t.Context(), conn)
		return conn
	}
	closed := func() (n int) {
		for _, conn := range all {
			if conn.closed {
				n++
			}
		}
		return n
	}
	first := come("192.0.2.1")
	c.mark(c.all[0], true)
	second := come("192.0.2.1")
	for range maxConnections - 2 {
		come("192.0.2.2")
	}
	third := all[2]
	if closed() != 0 {
		t.Fatal("one has left too early")
	}
	come("192.0.2.3")
	if !third.closed || closed() != 1 {
		t.Errorf("%d have left, of the host that has most: %v", closed(), third.closed)
	}
	for range 3 * maxConnections {
		come("192.0.2.1")
	}
	if first.closed || !second.closed || len(c.all) != maxConnections || closed() != len(all)-maxConnections {
		t.Errorf("%d connections, %d closed; the busy one: %v", len(c.all), closed(), first.closed)
	}
	c.change(first, http.StateClosed)
	if len(c.all) != maxConnections-1 || slices.ContainsFunc(c.all, func(one *connection) bool { return one.Conn == first }) {
		t.Error("one that ended is still counted")
	}
}

// fakeConn is a connection of a host.
type fakeConn struct {
	net.Conn
	host   string
	closed bool
}

func (c *fakeConn) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.ParseIP(c.host), Port: 1} }

func (c *fakeConn) Close() error {
	c.closed = true
	return nil
}

// TestHealthAt lets time pass and things fail.
func TestHealthAt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		require := func(h Health, reasons ...string) {
			t.Helper()
			want := healthy
			if len(reasons) > 0 {
				want = failing
			}
			if h.Status != want || !slices.Equal(h.Reasons, reasons) {
				t.Errorf("%+v, want %q", h, reasons)
			}
		}
		require(HealthAt(time.Time{}, []string{"x"}), "no status yet")
		require(HealthAt(begin, []string{"x"}), "x")
		time.Sleep(MaxAge)
		require(HealthAt(begin, nil))
		time.Sleep(time.Second)
		require(HealthAt(begin, []string{"x"}), "x", "no status for 11s")
		if text, err := json.Marshal(HealthAt(begin, nil)); err != nil || string(text) != `{"status":"failing","age_ns":11000000000,"reasons":["no status for 11s"]}` {
			t.Errorf("%s, %v", text, err)
		}
	})
}

// TestPageFails answers with what happened.
func TestPageFails(t *testing.T) {
	c := sample()
	c.Page = func(io.Writer, bool) error { return errors.New("broken") }
	w := httptest.NewRecorder()
	c.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	if w.Code != http.StatusInternalServerError || w.Body.String() != "broken\n" {
		t.Errorf("%d %q", w.Code, w.Body)
	}
}
