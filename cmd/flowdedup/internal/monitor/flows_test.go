package monitor

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/flows"
)

// TestFlowServer asks for all paths, before and after the first status.
func TestFlowServer(t *testing.T) {
	s, err := ListenFlows("--serve", "0", func(w io.Writer, s *flows.Summary) error {
		_, err := fmt.Fprintf(w, "%d records", s.RecordsIn)
		return err
	})
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
	for path, want := range map[string]int{"/": 200, "/metrics": 200, "/healthz": 503, "/nothing": 404} {
		if code, _ := get(path); code != want {
			t.Errorf("%s before the first status: %d, want %d", path, code, want)
		}
	}
	s.Update(&flows.Summary{
		RecordsIn: 77, Copies: 7, Points: []flows.PointSummary{{Name: "a", Records: 70}, {Name: "b\"\n", Records: 7, Copies: 7}},
		Relayed: &flows.RelaySummary{Messages: 3},
	})
	for path, want := range map[string]string{"/": "77 records", "/healthz": "ok\n"} {
		if code, body := get(path); code != 200 || body != want {
			t.Errorf("%s: %d %q", path, code, body)
		}
	}
	_, body := get("/metrics")
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(body))
	if err != nil {
		t.Fatal(err, body)
	}
	if f := families["flowdedup_flows_records_total"]; f == nil || f.Metric[0].Counter.GetValue() != 77 {
		t.Errorf("%v", f)
	}
	if f := families["flowdedup_flows_point_copies_total"]; f == nil || len(f.Metric) != 2 {
		t.Errorf("%v", f)
	}
}
