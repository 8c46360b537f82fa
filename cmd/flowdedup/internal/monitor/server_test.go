package monitor

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flowdedup/flowdedup/capture/ring"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/live"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/sink"
)

// get asks a server without a network.
func get(s *Server, method, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	s.handler().ServeHTTP(w, httptest.NewRequest(method, path, nil))
	return w
}

func TestListen(t *testing.T) {
	s, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	for second := range 3 {
		s.Update(*sample(second))
	}
	for path, want := range map[string]string{
		"/": "<svg", "/metrics": "flowdedup_packets_total", "/healthz": "broken pipe",
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
	}
	if _, err := Listen(s.Addr().String()); !errors.Is(err, syscall.EADDRINUSE) ||
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
	if _, err := Listen("nowhere"); !errors.Is(err, ErrAddress) || !strings.Contains(err.Error(), `--listen "nowhere"`) {
		t.Errorf("%v", err)
	}
}

// TestHealth lets time pass and things fail.
func TestHealth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := new(Server)
		requireHealth(t, s, "no status yet")
		well := live.Status{Outputs: []sink.Output{{Name: "a.pcap"}}, State: &live.State{Name: "b.state"}}
		s.Update(well)
		requireHealth(t, s)
		time.Sleep(maxAge)
		requireHealth(t, s)
		time.Sleep(time.Second)
		requireHealth(t, s, "no status for 11s")
		ill := well
		ill.Outputs = []sink.Output{{Name: "a.pcap", Failed: "disk full"}}
		ill.State = &live.State{Name: "b.state", Failed: "read-only"}
		s.Update(ill)
		requireHealth(t, s, "output a.pcap: disk full", "state b.state: read-only")
		s.Update(well)
		requireHealth(t, s)
	})
}

// TestHealthLosses checks that a run is unhealthy while it loses packets.
func TestHealthLosses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := new(Server)
		update := func(lost uint64, f ring.SenderStats) {
			s.Update(live.Status{
				Outputs: []sink.Output{{Name: "a.pcap", Lost: lost}}, Forward: &sink.Forward{Interface: "out", SenderStats: f},
			})
		}
		const (
			lost    = "output a.pcap: 7 packets lost"
			tooLong = "forward out: 1,596 packets longer than the interface can carry"
			refused = "forward out: 3 packets refused by its queue"
			cut     = "forward out: 2 packets captured in part and not sent"
			away    = "forward out: 58 packets not sent while the interface was away"
		)
		update(0, ring.SenderStats{Sent: 5})
		requireHealth(t, s)
		update(7, ring.SenderStats{Sent: 5, TooLong: 1000})
		time.Sleep(maxAge / 2)
		update(7, ring.SenderStats{Sent: 5, TooLong: 1596, Refused: 3, Truncated: 2, Lost: 58})
		requireHealth(t, s, lost, away, tooLong, refused, cut)
		time.Sleep(maxAge/2 + time.Second)
		update(7, ring.SenderStats{Sent: 9, TooLong: 1596, Refused: 3, Truncated: 2, Lost: 58})
		requireHealth(t, s, away, tooLong, refused, cut)
		time.Sleep(maxAge / 2)
		requireHealth(t, s)
	})
}

func requireHealth(t *testing.T, s *Server, reasons ...string) {
	t.Helper()
	w := get(s, "GET", "/healthz")
	var h health
	if err := json.Unmarshal(w.Body.Bytes(), &h); err != nil || strings.Count(w.Body.String(), "\n") != 1 {
		t.Fatalf("%q: %v", w.Body, err)
	}
	want, code := "ok", http.StatusOK
	if len(reasons) > 0 {
		want, code = "failing", http.StatusServiceUnavailable
	}
	if h.Status != want || w.Code != code || strings.Join(h.Reasons, "|") != strings.Join(reasons, "|") {
		t.Errorf("%d %+v, want %q", w.Code, h, reasons)
	}
}

// TestPage checks that the page is self-contained and escapes names.
func TestPage(t *testing.T) {
	nasty := hostile()
	nasty.Outputs[0].Name = "<script>alert(1)</script>"
	for name, statuses := range map[string][]*live.Status{
		"none": nil, "empty": {{}}, "full": {sample(1), sample(2), sample(3)}, "hostile": {sample(0), {}, nasty},
	} {
		s := new(Server)
		for _, status := range statuses {
			s.Update(*status)
		}
		w := get(s, "GET", "/")
		body := w.Body.String()
		if w.Code != http.StatusOK || !strings.HasSuffix(body, "</html>\n") {
			t.Errorf("%s: %d %q", name, w.Code, body)
		}
		if name == "hostile" != strings.Contains(body, "down or away<") {
			t.Errorf("%s: eth1 is down in %q", name, body)
		}
		for _, foreign := range []string{"<script", "http://", "https://", "src=", "url("} {
			if strings.Contains(body, foreign) {
				t.Errorf("%s: %s in the page", name, foreign)
			}
		}
		if svg, _, ok := strings.Cut(body[max(0, strings.Index(body, "<svg")):], "</svg>"); ok {
			if err := xml.Unmarshal([]byte(svg+"</svg>"), new(any)); err != nil && err != io.EOF {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// TestOnlyGet rejects other methods and paths.
func TestOnlyGet(t *testing.T) {
	s := new(Server)
	for _, c := range []struct {
		method, path string
		want         int
	}{
		{"HEAD", "/", http.StatusOK}, {"HEAD", "/metrics", http.StatusOK},
		{"POST", "/", http.StatusMethodNotAllowed}, {"DELETE", "/metrics", http.StatusMethodNotAllowed},
		{"GET", "/debug/pprof/", http.StatusNotFound}, {"GET", "/index.html", http.StatusNotFound},
	} {
		if w := get(s, c.method, c.path); w.Code != c.want {
			t.Errorf("%s %s: %d, want %d", c.method, c.path, w.Code, c.want)
		}
	}
}

func TestArea(t *testing.T) {
	if got, want := area([]float64{0, 5, 10}, 10), "57,100 57,100.0 58,50.0 59,0.0 59,100"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := area([]float64{0, 0}, 0), "58,100 58,100.0 59,100.0 59,100"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestHosts checks that a loopback server answers only to names that no other host can
// have.
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

// TestHostsElsewhere checks that a server on other addresses answers to any name, because
// it cannot know its names.
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

// TestHeaders checks the security headers of every answer.
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
