// SPDX-License-Identifier: Apache-2.0

package check

import (
	"io"
	"math"
	"net/http/httptest"
	"runtime/debug"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/web"
)

// TestProcessMetrics compares the metrics of the process with those of client_golang: the
// same names and types, and values of the same magnitude. The garbage collector does not run
// meanwhile, and client_golang is asked before and after, because a value that grows or
// shrinks lies between its two.
func TestProcessMetrics(t *testing.T) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewBuildInfoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	gather := func() map[string]*dto.MetricFamily {
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		byName := map[string]*dto.MetricFamily{}
		for _, f := range families {
			byName[f.GetName()] = f
		}
		return byName
	}
	// value is the logarithm of a metric, and of 1 if it is 0.
	value := func(f *dto.MetricFamily) float64 {
		m := f.GetMetric()[0]
		return math.Log10(1 + m.GetCounter().GetValue() + m.GetGauge().GetValue())
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	debug.FreeOSMemory()
	before := gather()
	answer := httptest.NewRecorder()
	nothing := web.Content{Metrics: func(io.Writer) error { return nil }}
	nothing.Handler().ServeHTTP(answer, httptest.NewRequest("GET", "/metrics", nil))
	parser := expfmt.NewTextParser(model.UTF8Validation)
	ours, err := parser.TextToMetricFamilies(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	after := gather()
	for name, f := range ours {
		first, last := before[name], after[name]
		if first == nil || last == nil || first.GetType() != f.GetType() {
			t.Errorf("%s: %v, client_golang has %v", name, f, first)
			continue
		}
		got, low, high := value(f), min(value(first), value(last)), max(value(first), value(last))
		if got < low-1 || got > high+1 {
			t.Errorf("%s: %v, client_golang says %v, then %v", name, f, first, last)
		}
	}
	if everywhere := 18; len(ours) < everywhere {
		t.Errorf("%d metrics", len(ours))
	}
}
