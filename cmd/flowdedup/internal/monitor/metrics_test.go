package monitor

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/common/expfmt"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/live"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/sink"
)

// TestMetrics compares what Prometheus is given with testdata, and its names with
// the rules for names.
func TestMetrics(t *testing.T) {
	c := newCollector(func() *live.Status { return sample(3600) })
	problems, err := testutil.CollectAndLint(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	var names []string
	for _, m := range c.metrics {
		names = append(names, "flowdedup_"+m.name)
	}
	text, err := testutil.CollectAndFormat(c, expfmt.TypeTextPlain, names...)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "metrics.txt", string(text))
}

// TestMetricsOfNothing wants no trouble where a part of the status is missing.
func TestMetricsOfNothing(t *testing.T) {
	for _, s := range []*live.Status{nil, {}, {Distinct: make([]live.Distinct, 1)}} {
		if _, err := testutil.CollectAndLint(newCollector(func() *live.Status { return s })); err != nil {
			t.Error(err)
		}
	}
}

// TestMetricsBeforeDuplicates wants the series of what there may be at once: a counter
// that appears with its first value has no rate then.
func TestMetricsBeforeDuplicates(t *testing.T) {
	s := new(Server)
	s.Update(live.Status{})
	text := get(s, "GET", "/metrics").Body.String()
	for _, protocol := range usualProtocols {
		if want := fmt.Sprintf("flowdedup_duplicates_total{protocol=%q} 0\n", protocol); !strings.Contains(text, want) {
			t.Errorf("no %s", want)
		}
	}
}

// TestMetricsOfBadNames wants all values, also where names are not UTF-8 or twice
// there.
func TestMetricsOfBadNames(t *testing.T) {
	s := new(Server)
	status := hostile()
	status.Outputs = append(status.Outputs, sink.Output{Name: "twice"}, sink.Output{Name: "twice"}, sink.Output{Name: "\xff"})
	s.Update(*status)
	w := get(s, "GET", "/metrics")
	for _, want := range []string{"flowdedup_packets_total ", `output="twice"`, `flowdedup_ring_interface_down{interface="eth1",ring="0"} 1`, "\ufffd", "go_goroutines ", "go_build_info{"} {
		if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%d, no %q", w.Code, want)
		}
	}
}
