// SPDX-License-Identifier: Apache-2.0

// Package webtest attacks servers of package web: as a page from elsewhere does in the
// browser of an operator, and as a program does that can connect. Tests use it.
package webtest

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// timeout is how long an answer may take, on a busy machine too.
const timeout = time.Minute

// Attack attacks the server at addr, on loopback. Page is a text of its page, and others are
// the paths that it has besides /, /metrics and /healthz. An operator's own requests are
// answered all the while.
func Attack(t *testing.T, addr net.Addr, page string, others ...string) {
	s := &server{addr: addr.String(), page: page, paths: append([]string{"/", "/metrics", "/healthz"}, others...)}
	t.Run("requests", s.requests)
	t.Run("methods", s.methods)
	t.Run("sizes", s.sizes)
	t.Run("second request in a body", s.smuggle)
	t.Run("silent and slow", s.silent)
}

// server is the server under attack.
type server struct {
	addr, page string
	paths      []string
}

// request is one that a browser or a program sends.
type request struct {
	method, target, host, origin string
	site, mode, dest             string // fetch metadata
}

func (r *request) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: %s\r\n", r.method, r.target, r.host)
	for _, h := range [][2]string{{"Origin", r.origin}, {"Sec-Fetch-Site", r.site}, {"Sec-Fetch-Mode", r.mode}, {"Sec-Fetch-Dest", r.dest}} {
		if h[1] != "" {
			fmt.Fprintf(&b, "%s: %s\r\n", h[0], h[1])
		}
	}
	return b.String() + "Connection: close\r\n\r\n"
}

// fetches are how a browser asks: by hand, from the page itself, by a link elsewhere, and for
// another page: as a script, an image, a frame.
var fetches = []struct {
	site, mode, dest string
	allowed          bool
}{
	{"", "", "", true}, {"none", "navigate", "document", true}, {"same-origin", "no-cors", "empty", true}, {"cross-site", "navigate", "document", true},
	{"cross-site", "cors", "empty", false}, {"cross-site", "no-cors", "image", false}, {"same-site", "no-cors", "script", false}, {"cross-site", "navigate", "iframe", false},
}

// requests asks for all paths by all names and from all origins: who may not ask gets
// nothing.
func (s *server) requests(t *testing.T) {
	_, port, err := net.SplitHostPort(s.addr)
	if err != nil {
		t.Fatal(err)
	}
	hosts := map[string]bool{
		s.addr: true, "localhost:" + port: true, "LOCALHOST": true, "[::1]:" + port: true,
		"rebound.example": false, "rebound.example:" + port: false, "127.0.0.1.rebound.example": false, "localhost.rebound.example": false, "127.1": false, "0x7f000001": false,
	}
	targets := map[string]bool{
		"/metrics?x=1": true, "//": false, "//metrics": false, "/metrics/": false, "/METRICS": false, "/./metrics": false, "/x/../metrics": false,
		"/%2e%2e/metrics": false, "/debug/pprof/": false, "/debug/vars": false, "/index.html": false, "/favicon.ico": false, "*": false,
		"http://rebound.example/metrics": false, "http://rebound.example": false,
	}
	for _, path := range s.paths {
		targets[path] = true
	}
	for host, known := range hosts {
		for target, there := range targets {
			for origin, own := range map[string]bool{"": true, "http://" + host: true, "http://rebound.example.net": false, "null": false, "https://": false} {
				for _, f := range fetches {
					r := &request{"GET", target, host, origin, f.site, f.mode, f.dest}
					s.check(t, r, known && there && own && f.allowed)
				}
			}
		}
		s.answered(t)
	}
}

// methods sends all methods, and words that are not methods.
func (s *server) methods(t *testing.T) {
	for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "PRI", "get", "PROPFIND", "X"} {
		for _, target := range append([]string{"*", "rebound.example:443"}, s.paths...) {
			s.check(t, &request{method: method, target: target, host: s.addr}, (method == "GET" || method == "HEAD") && slices.Contains(s.paths, target))
		}
	}
	s.answered(t)
}

// check sends a request, and checks that it has an answer if it may, and otherwise none of the
// server's data. No answer lets another page read it, or sends the browser elsewhere.
func (s *server) check(t *testing.T, r *request, allowed bool) {
	t.Helper()
	answer, body := s.send(t, r.String(), r.method)
	if answer == nil {
		t.Errorf("%q: no answer", r)
		return
	}
	served := answer.StatusCode == http.StatusOK || answer.StatusCode == http.StatusServiceUnavailable
	refused := answer.StatusCode >= 400 && answer.StatusCode < 500
	if served != allowed || refused == allowed {
		t.Errorf("%q: %s", r, answer.Status)
	}
	if refused && (strings.Contains(body, s.page) || strings.Contains(body, "flowdedup_") || strings.Contains(body, "go_goroutines")) {
		t.Errorf("%q: %s, with %q", r, answer.Status, body)
	}
	for name := range answer.Header {
		if strings.HasPrefix(name, "Access-Control-") || name == "Location" {
			t.Errorf("%q: %s: %s", r, name, answer.Header.Get(name))
		}
	}
	// Package net/http answers invalid requests itself, without content.
	if answer.StatusCode != http.StatusBadRequest {
		s.checkHeaders(t, r, answer.Header)
	}
}

func (s *server) checkHeaders(t *testing.T, r *request, head http.Header) {
	t.Helper()
	for name, want := range map[string]string{
		"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Content-Security-Policy": "frame-ancestors 'none'",
		"Referrer-Policy": "no-referrer", "Cross-Origin-Resource-Policy": "same-origin", "Cache-Control": "no-store", "Content-Type": "/",
	} {
		if got := head.Get(name); !strings.Contains(got, want) {
			t.Errorf("%q: %s is %q", r, name, got)
		}
	}
}

// sizes sends heads that are too large, and none that end.
func (s *server) sizes(t *testing.T) {
	for name, head := range map[string]string{
		"a long header":  "GET / HTTP/1.1\r\nHost: " + s.addr + "\r\nX: " + strings.Repeat("x", 64<<10) + "\r\n\r\n",
		"many headers":   "GET / HTTP/1.1\r\nHost: " + s.addr + "\r\n" + strings.Repeat("X: y\r\n", 16<<10) + "\r\n",
		"a long path":    "GET /" + strings.Repeat("x", 64<<10) + " HTTP/1.1\r\nHost: " + s.addr + "\r\n\r\n",
		"no name":        "GET / HTTP/1.1\r\n\r\n",
		"two names":      "GET / HTTP/1.1\r\nHost: " + s.addr + "\r\nHost: rebound.example\r\n\r\n",
		"garbage":        strings.Repeat("\x00\xff", 32<<10) + "\r\n\r\n",
		"TLS":            "\x16\x03\x01\x02\x00\x01\r\n\r\n",
		"HTTP/2":         "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		"another length": "GET / HTTP/1.1\r\nHost: " + s.addr + "\r\nContent-Length: -1\r\n\r\n",
		"two lengths":    "GET / HTTP/1.1\r\nHost: " + s.addr + "\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	} {
		if answer, body := s.send(t, head, "GET"); answer != nil && (answer.StatusCode < 400 || strings.Contains(body, s.page)) {
			t.Errorf("%s: %s", name, answer.Status)
		}
		s.answered(t)
	}
}

// smuggle hides a request in the body of another one: one answer comes.
func (s *server) smuggle(t *testing.T) {
	second := "GET / HTTP/1.1\r\nHost: " + s.addr + "\r\n\r\n"
	for _, lengths := range []string{fmt.Sprintf("Content-Length: %d", len(second)), "Transfer-Encoding: chunked"} {
		conn := s.dial(t)
		fmt.Fprintf(conn, "GET /metrics HTTP/1.1\r\nHost: %s\r\n%s\r\n\r\n%s", s.addr, lengths, second)
		all, _ := io.ReadAll(conn) // it may be reset, as something is unread
		conn.Close()
		if n := strings.Count(string(all), "HTTP/1.1 "); n > 1 || strings.Contains(string(all), s.page) {
			t.Errorf("%s: %d answers", lengths, n)
		}
	}
	s.answered(t)
}

// silent holds far more connections than the server lets there be, which say nothing or not
// enough. Who asks is answered.
func (s *server) silent(t *testing.T) {
	for _, said := range []string{"", "G", "GET / HTTP/1.1\r\nHost: " + s.addr + "\r\n"} {
		var all []net.Conn
		for i := range 300 {
			conn := s.dial(t)
			_, _ = io.WriteString(conn, said) // it may be closed meanwhile
			all = append(all, conn)
			if i%50 == 0 {
				s.answered(t)
			}
		}
		s.answered(t)
		for _, conn := range all {
			conn.Close()
		}
	}
	s.answered(t)
}

// answered asks as the operator does.
func (s *server) answered(t *testing.T) {
	t.Helper()
	answer, body := s.send(t, (&request{method: "GET", target: "/", host: s.addr}).String(), "GET")
	if answer == nil || answer.StatusCode != http.StatusOK || !strings.Contains(body, s.page) {
		t.Fatalf("the operator has no answer: %v %q", answer, body)
	}
}

func (s *server) dial(t *testing.T) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() }) // a second time, perhaps
	if err := conn.SetDeadline(time.Now().Add(timeout)); err != nil {
		t.Fatal(err)
	}
	return conn
}

// send sends text, and returns the answer, nil if the connection ends without.
func (s *server) send(t *testing.T, text, method string) (*http.Response, string) {
	t.Helper()
	conn := s.dial(t)
	defer conn.Close()
	_, _ = io.WriteString(conn, text) // the server may have read enough
	answer, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		return nil, ""
	}
	defer answer.Body.Close()
	body, _ := io.ReadAll(answer.Body) // it may be reset, as something is unread
	return answer, string(body)
}
