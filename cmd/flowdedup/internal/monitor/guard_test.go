package monitor

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/live"
)

// TestHosts answers on the loopback interface to names that no other host can have.
func TestHosts(t *testing.T) {
	s, err := Listen("localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for host, answered := range map[string]bool{
		"127.0.0.1:9469": true, "127.0.0.1": true, "[::1]:9469": true, "[::1]": true, "[fe80::1%25lo]:80": true, "192.0.2.1:80": true,
		"localhost:9469": true, "LocalHost.": true, "sensor7:9469": true, "SENSOR7": true,
		"example.com:9469": false, "example.com": false, "localhost.example.com": false, "127.0.0.1.example.com": false,
		"sensor7.example.com": false, "127.1": false, "2130706433": false, "[example.com]": false,
	} {
		for _, path := range []string{"/", "/metrics", "/healthz", "/nothing"} {
			r := httptest.NewRequest("GET", path, nil)
			r.Host = host
			w := httptest.NewRecorder()
			onlyHost("sensor7:9469", s.handler()).ServeHTTP(w, r)
			if (w.Code != http.StatusMisdirectedRequest) != answered {
				t.Errorf("%s of %q: %d", path, host, w.Code)
			}
		}
	}
	requireCode := func(host string, want int) {
		t.Helper()
		r, err := http.NewRequest("GET", "http://"+s.Addr().String()+"/metrics", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = host
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("%s: %s", host, answer.Status)
		}
	}
	requireCode("rebound.example.com", http.StatusMisdirectedRequest)
	requireCode("localhost", http.StatusOK)
}

// TestHostsElsewhere answers to any name where others may ask: it is known by names
// that nobody told it.
func TestHostsElsewhere(t *testing.T) {
	s, err := Listen("0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	w, r := httptest.NewRecorder(), httptest.NewRequest("GET", "/metrics", nil)
	r.Host = "sensor7.example.com"
	if s.http.Handler.ServeHTTP(w, r); w.Code != http.StatusOK {
		t.Error(w.Code)
	}
}

// TestHeaders wants every answer to be what it says and nothing else.
func TestHeaders(t *testing.T) {
	s := new(Server)
	s.Update(live.Status{})
	for _, path := range []string{"/", "/metrics", "/healthz", "/nothing"} {
		head := get(s, "GET", path).Header()
		for name, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Content-Security-Policy": "frame-ancestors 'none'",
			"Content-Type": "/",
		} {
			if got := head.Get(name); !strings.Contains(got, want) {
				t.Errorf("%s: %s is %q", path, name, got)
			}
		}
	}
}

// TestLimited turns away who asks while too many are answered, and nobody after that.
func TestLimited(t *testing.T) {
	enter, leave := make(chan struct{}), make(chan struct{})
	h := limited(func(http.ResponseWriter, *http.Request) {
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
		for range mostAnswers {
			go func() { codes <- ask() }()
			<-enter
		}
		if code := ask(); code != http.StatusServiceUnavailable {
			t.Errorf("one too many: %d", code)
		}
		for range mostAnswers {
			leave <- struct{}{}
			if code := <-codes; code != http.StatusOK {
				t.Errorf("%d", code)
			}
		}
	}
}
