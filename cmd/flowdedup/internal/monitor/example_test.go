// SPDX-License-Identifier: Apache-2.0

package monitor_test

import (
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/monitor"
)

// Where there is no terminal, a view writes lines, and leaves room for others.
func ExampleView() {
	view := monitor.NewView(os.Stdout, 10*time.Second, monitor.Lines)
	start := time.Date(2026, 11, 21, 22, 0, 0, 0, time.UTC)
	for second := range 11 {
		s := monitor.Status{Now: start.Add(time.Duration(second) * time.Second)}
		s.PacketsIn, s.BytesIn, s.Duplicates = uint64(1000*second), uint64(64_000*second), uint64(250*second)
		view.Update(s)
	}
	view.Close()
	// Output:
	// 2026-11-21T22:00:10Z packets=10000 pps=1000 bps=512000 dup=2500 share=0.25 drops=0 fill=0 evicted_live=0
}

// Warnings go through the view, which keeps them in sight; with JSON they and the
// view's lines are JSON.
func ExampleView_Write() {
	view := monitor.NewView(os.Stderr, 10*time.Second, func(w io.Writer) slog.Handler { return slog.NewJSONHandler(w, nil) })
	defer view.Close()
	slog.New(slog.NewJSONHandler(view, nil)).Warn("interface is down or gone", "interface", "eth0")
}
