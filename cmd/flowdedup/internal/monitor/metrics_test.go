package monitor

import (
	"bytes"
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/live"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/sink"
)

// parse has Prometheus's own parser read metrics.
func parse(t *testing.T, text []byte) map[string]*dto.MetricFamily {
	t.Helper()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return families
}

// write returns the metrics of a status.
func write(t *testing.T, metrics []metric, s *live.Status) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := writeMetrics(&out, metrics, s); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestMetrics compares what Prometheus is given with testdata and with what its own
// library writes, and the names with its rules for names.
func TestMetrics(t *testing.T) {
	text := write(t, runMetrics(), sample(3600))
	golden(t, "metrics.txt", string(text))
	for _, s := range []*live.Status{sample(3600), hostile()} {
		text := write(t, runMetrics(), s)
		problems, err := promlint.New(bytes.NewReader(text)).Lint()
		if err != nil || len(problems) > 0 {
			t.Errorf("%v, %v", problems, err)
		}
		families := parse(t, text)
		var theirs bytes.Buffer
		for _, m := range runMetrics() {
			if family := families[m.name]; family != nil {
				if _, err := expfmt.MetricFamilyToText(&theirs, family); err != nil {
					t.Fatal(err)
				}
			}
		}
		if theirs.String() != string(text) {
			t.Errorf("client_golang writes\n%s\nnot\n%s", theirs.String(), text)
		}
	}
}

// TestMetricsOfNothing wants no trouble where a part of the status is missing.
func TestMetricsOfNothing(t *testing.T) {
	for _, s := range []live.Status{{}, {Distinct: make([]live.Distinct, 1)}} {
		parse(t, write(t, runMetrics(), &s))
	}
	if w := get(new(Server), "GET", "/metrics"); w.Code != http.StatusOK || strings.Contains(w.Body.String(), "flowdedup_packets") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// TestProcessMetrics compares the metrics of the process with those that client_golang
// takes of it: names and types are the same, and values of the same magnitude.
func TestProcessMetrics(t *testing.T) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewBuildInfoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	theirs := map[string]*dto.MetricFamily{}
	for _, f := range families {
		theirs[f.GetName()] = f
	}
	value := func(f *dto.MetricFamily) float64 {
		m := f.GetMetric()[0]
		return m.GetCounter().GetValue() + m.GetGauge().GetValue()
	}
	ours := parse(t, write(t, processMetrics(), nil))
	for name, f := range ours {
		other := theirs[name]
		if other == nil || other.GetType() != f.GetType() {
			t.Errorf("%s: %v, client_golang has %v", name, f, other)
			continue
		}
		// Much may happen between the two.
		if got, want := value(f), value(other); math.Abs(math.Log10((got+1)/(want+1))) > 1 {
			t.Errorf("%s: %g, client_golang says %g", name, got, want)
		}
	}
	if len(ours) < len(runtimeMetrics) {
		t.Errorf("%d metrics", len(ours))
	}
}

// TestMetricsBeforeDuplicates wants the series of what there may be at once: a counter
// that appears with its first value has no rate then.
func TestMetricsBeforeDuplicates(t *testing.T) {
	s := new(Server)
	s.Update(live.Status{})
	text := get(s, "GET", "/metrics").Body.String()
	for _, protocol := range commonProtocols {
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
