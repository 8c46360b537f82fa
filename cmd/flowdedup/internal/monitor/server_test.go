// SPDX-License-Identifier: Apache-2.0

package monitor

import (
	"encoding/json"
	"encoding/xml"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flowdedup/flowdedup/capture/afpacket"
	"github.com/flowdedup/flowdedup/capture/certs/certstest"
	"github.com/flowdedup/flowdedup/capture/pcapoverip"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/sink"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/page"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/web"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/web/webtest"
)

// testOrigin is the origin of a page.
func testOrigin() page.Origin {
	return page.Origin{Command: "flowdedup live -i eth1", Inputs: []string{"eth1"}, Version: "v0", Made: time.Unix(0, 0).UTC()}
}

// get asks a server without a network.
func get(s *Server, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	s.content().Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w
}

func TestListen(t *testing.T) {
	s, err := Listen("127.0.0.1:0", "", testOrigin)
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
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestHealth lets time pass and things fail.
func TestHealth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := new(Server)
		requireHealth(t, s, "no status yet")
		well := Status{Summary: Summary{Outputs: []sink.Output{{Name: "a.pcap"}}}, State: &State{Name: "b.state"}}
		s.Update(well)
		requireHealth(t, s)
		time.Sleep(web.MaxAge)
		requireHealth(t, s)
		time.Sleep(time.Second)
		requireHealth(t, s, "no status for 11s")
		ill := well
		ill.Outputs = []sink.Output{{Name: "a.pcap", Failed: "disk full"}}
		ill.State = &State{Name: "b.state", Failed: "read-only"}
		s.Update(ill)
		requireHealth(t, s, "output a.pcap: disk full", "state b.state: read-only")
		s.Update(well)
		requireHealth(t, s)
	})
}

// TestHealthCertificate follows a certificate that expires, and is renewed.
func TestHealthCertificate(t *testing.T) {
	s, a := new(Server), certstest.New(t)
	files := certstest.Load(t, a, 1500*time.Millisecond)
	s.Update(Status{TLS: files})
	requireHealth(t, s)
	name, at := files.Expiry()
	time.Sleep(time.Until(at) + 10*time.Millisecond)
	requireHealth(t, s, "TLS: certificate "+name+" has expired at "+at.UTC().Format(time.RFC3339))
	a.Files(t, "node", time.Hour)
	requireHealth(t, s)
}

// TestHealthFull names inputs that accept no peers, of both kinds of runs.
func TestHealthFull(t *testing.T) {
	full := pcapoverip.ReceiverStats{Full: "64 streams are read already"}
	s := new(Server)
	s.Update(Status{Networks: []Network{{Name: "eth1"}, {Name: "tcp-listen://:57012", ReceiverStats: &full}}})
	requireHealth(t, s, "input tcp-listen://:57012 accepts no peers: 64 streams are read already")
	full.Full = ""
	s.Update(Status{Networks: []Network{{Name: "tcp-listen://:57012", ReceiverStats: &full}}})
	requireHealth(t, s)
}

// TestAttack attacks the server.
func TestAttack(t *testing.T) {
	s, err := Listen("0", "", testOrigin)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.Update(*sample(3))
	webtest.Attack(t, s.Addr(), "<title>flowdedup live")
}

// TestHealthLosses checks that a run is unhealthy while it loses packets.
func TestHealthLosses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := new(Server)
		update := func(lost uint64, f afpacket.SenderStats) {
			s.Update(Status{Summary: Summary{
				Outputs: []sink.Output{{Name: "a.pcap", Lost: lost}}, Forwards: []sink.Forward{{Interface: "out", SenderStats: f}},
			}})
		}
		const (
			lost    = "output a.pcap: 7 packets lost"
			tooLong = "forward out: 1,596 packets longer than the interface can carry"
			refused = "forward out: 3 packets refused by its queue"
			cut     = "forward out: 2 truncated packets, not sent"
			away    = "forward out: 58 packets not sent while the interface was away"
		)
		update(0, afpacket.SenderStats{Sent: 5})
		requireHealth(t, s)
		update(7, afpacket.SenderStats{Sent: 5, TooLong: 1000})
		time.Sleep(web.MaxAge / 2)
		update(7, afpacket.SenderStats{Sent: 5, TooLong: 1596, Refused: 3, Truncated: 2, Lost: 58})
		requireHealth(t, s, lost, away, tooLong, refused, cut)
		time.Sleep(web.MaxAge/2 + time.Second)
		update(7, afpacket.SenderStats{Sent: 9, TooLong: 1596, Refused: 3, Truncated: 2, Lost: 58})
		requireHealth(t, s, away, tooLong, refused, cut)
		time.Sleep(web.MaxAge / 2)
		requireHealth(t, s)
	})
}

func requireHealth(t *testing.T, s *Server, reasons ...string) {
	t.Helper()
	w := get(s, "/healthz")
	var h web.Health
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
	for name, statuses := range map[string][]*Status{
		"none": nil, "empty": {{}}, "full": {sample(1), sample(2), sample(3)}, "hostile": {sample(0), {}, nasty},
	} {
		s := &Server{origin: testOrigin}
		for _, status := range statuses {
			s.Update(*status)
		}
		w := get(s, "/")
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

// TestPageStates wants words where there are no numbers yet.
func TestPageStates(t *testing.T) {
	var exact Status
	exact.PacketsIn, exact.Duplicates = 4, 2
	exact.Diffs.Sampled, exact.Diffs.Exact = 2, 2
	for want, status := range map[string]*Status{
		"The run has not begun.":                                nil,
		"No packet has come.":                                   {},
		"2 of 4 packets were duplicates (50.00\u00a0%)":         &exact,
		"All sampled copies are exact: they differ in nothing.": &exact,
		"<title>flowdedup live: eth1</title>":                   {},
		"Loaded again every 2s. <a href=\"/?paused\">Pause</a>": {},
	} {
		s := &Server{origin: testOrigin}
		if status != nil {
			s.Update(*status)
		}
		if body := get(s, "/").Body.String(); !strings.Contains(body, want) {
			t.Errorf("no %q in %s", want, body)
		}
	}
}
