// SPDX-License-Identifier: Apache-2.0

package check

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// metric is a metric that exists.
type metric struct {
	counter bool
	// labels has the values of each label.
	labels map[string][]string
}

// names are the labels of each of its series.
func (m *metric) names() []string {
	names := slices.Clone(everySeries)
	for name := range m.labels {
		names = append(names, name)
	}
	return names
}

// everySeries are the labels that Prometheus adds to everything that it scrapes.
var everySeries = []string{"instance", "job"}

// ofRuns and ofHubs are folders whose tests found the metrics of runs of flowdedup, and of hubs.
var (
	ofRuns = []string{"../../internal/monitor", "../../internal/flows"}
	ofHubs = []string{"../../../../engine/cluster/cmd/flowdedup-hub"}
)

// TestMetricNames checks the names, kinds and help of all metrics by the rules of Prometheus.
// Only the sizes of digests are in bits, as in all sources on filters.
func TestMetricNames(t *testing.T) {
	for _, folder := range slices.Concat(ofRuns, ofHubs) {
		text, err := os.ReadFile(folder + "/testdata/metrics.txt")
		if err != nil {
			t.Fatal(err)
		}
		problems, err := promlint.New(bytes.NewReader(text)).Lint()
		problems = slices.DeleteFunc(problems, func(p promlint.Problem) bool { return strings.HasSuffix(p.Metric, "_bits_per_digest") })
		if err != nil || len(problems) > 0 {
			t.Errorf("%s: %v, %v", folder, problems, err)
		}
	}
}

// offer returns the metrics of scrapes: metrics found by the tests of some folders, and
// metrics of every Go program.
func offer(t *testing.T, folders []string) map[string]*metric {
	t.Helper()
	all := map[string]*metric{"up": {}}
	for _, folder := range folders {
		file, err := os.Open(folder + "/testdata/metrics.txt")
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		parser := expfmt.NewTextParser(model.UTF8Validation)
		ours, err := parser.TextToMetricFamilies(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, family := range ours {
			all[family.GetName()] = read(family)
		}
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		all[family.GetName()] = read(family)
	}
	return all
}

func read(family *dto.MetricFamily) *metric {
	m := &metric{counter: family.GetType() == dto.MetricType_COUNTER, labels: map[string][]string{}}
	for _, series := range family.GetMetric() {
		for _, l := range series.GetLabel() {
			m.labels[l.GetName()] = append(m.labels[l.GetName()], l.GetValue())
		}
	}
	return m
}
