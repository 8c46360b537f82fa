// SPDX-License-Identifier: Apache-2.0

// Package metricstest writes the metrics of a command for its tests, and reads them as
// Prometheus does.
package metricstest

import (
	"bytes"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/web"
)

// Write returns the metrics of a status as /metrics gives them.
func Write[S any](t *testing.T, metrics []web.Metric[S], s S) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := web.WriteMetrics(&out, metrics, s); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// Parse parses metrics with the parser of Prometheus. It returns them by name.
func Parse(t *testing.T, text []byte) map[string]*dto.MetricFamily {
	t.Helper()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return families
}
