// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/web"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/web/metricstest"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/web/webtest"
)

// TestFlowServer asks for all paths, before and after the first status.
func TestFlowServer(t *testing.T) {
	s, err := listen("0", "", cli.Origin{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	get := func(path string) (int, string) {
		answer, err := http.Get("http://" + s.Addr().String() + path)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, string(body)
	}
	if _, body := get("/"); !strings.Contains(body, "No record has come.") {
		t.Errorf("before the first status: %q", body)
	}
	for path, want := range map[string]int{"/": 200, "/metrics": 200, "/healthz": 503, "/nothing": 404} {
		if code, _ := get(path); code != want {
			t.Errorf("%s before the first status: %d, want %d", path, code, want)
		}
	}
	well := wholeFlows()
	well.Failing, well.Relayed = nil, nil
	s.update(well)
	for path, link := range map[string]string{"/": ">Pause<", "/?paused": ">Resume<"} {
		if code, body := get(path); code != 200 || !strings.Contains(body, "of 77 records") || !strings.Contains(body, link) {
			t.Errorf("%s: %d %q", path, code, body)
		}
	}
	if code, body := get("/healthz"); code != 200 || !strings.HasPrefix(body, `{"status":"ok","age_ns":`) {
		t.Errorf("%d %q", code, body)
	}
	_, body := get("/metrics")
	families := metricstest.Parse(t, []byte(body))
	if f := families["flowdedup_flows_records_total"]; f == nil || f.Metric[0].Counter.GetValue() != 77 {
		t.Errorf("%v", f)
	}
	if f := families["flowdedup_flows_point_copies_total"]; f == nil || len(f.Metric) != 2 {
		t.Errorf("%v", f)
	}
}

// TestStatus is what the service manager shows.
func TestStatus(t *testing.T) {
	s := summary{RecordsIn: 1234, Copies: 5, Dropped: 6}
	if got := s.status(); got != "1,234 records, 5 copies, 6 dropped" {
		t.Errorf("%q", got)
	}
}

// TestFlowHealth names what fails, and what the collector did not take lately.
func TestFlowHealth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := new(server)
		require := func(reasons ...string) {
			t.Helper()
			if h := s.health(); !slices.Equal(h.Reasons, reasons) || (h.Status == "ok") != (len(reasons) == 0) {
				t.Errorf("%+v, want %q", h, reasons)
			}
		}
		require("no status yet")
		relay := func(failed uint64, failing ...string) {
			s.update(&summary{Relayed: &relaySummary{To: "udp://c:1", Failed: failed}, Failing: failing})
		}
		relay(0)
		require()
		relay(1234, "state x: disk full")
		require("state x: disk full", "to udp://c:1: 1,234 messages not taken")
		time.Sleep(web.MaxAge + time.Second)
		require("state x: disk full", "no status for 11s")
		relay(1234)
		require()
	})
}

// TestAttack attacks the server.
func TestAttack(t *testing.T) {
	f, err := listen("0", "", cli.Origin{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	f.update(wholeFlows())
	webtest.Attack(t, f.Addr(), "192.0.2.1 domain 1")
}
