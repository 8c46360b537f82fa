package monitor

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/live"
)

// metric is the name of a metric, and how to take its values from a status.
type metric struct {
	name, help string // metrics of the run: the name without "flowdedup_"
	kind       string // counter or gauge
	labels     []string
	values     func(s *live.Status, give func(v float64, labels ...string))
}

const (
	counter = "counter"
	gauge   = "gauge"
)

// metricsType is the content type of the Prometheus text format. The format is written
// here because client_golang brings protobuf: 2.5 MB, and a fifth of the start of every
// command. Tests check the result with that package.
//
// Source: https://prometheus.io/docs/instrumenting/exposition_formats
const metricsType = "text/plain; version=0.0.4; charset=utf-8"

// runMetrics returns all metrics of a run, sorted by name.
func runMetrics() []metric {
	all := slices.Concat(trafficMetrics, kernelMetrics, networkMetrics, filterMetrics, learnedMetrics, distinctMetrics, outputMetrics)
	for i := range all {
		all[i].name = "flowdedup_" + all[i].name
	}
	slices.SortFunc(all, func(a, b metric) int { return strings.Compare(a.name, b.name) })
	return all
}

// writeMetrics writes the metrics that have values.
func writeMetrics(w io.Writer, metrics []metric, s *live.Status) error {
	out := bufio.NewWriter(w)
	for i := range metrics {
		m := &metrics[i]
		series := m.series(s)
		if len(series) == 0 {
			continue
		}
		fmt.Fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", m.name, m.help, m.name, m.kind)
		for _, name := range slices.Sorted(maps.Keys(series)) {
			fmt.Fprintf(out, "%s %s\n", name, strconv.FormatFloat(series[name], 'g', -1, 64))
		}
	}
	return out.Flush()
}

// series returns a value for each combination of labels. If two outputs have the same
// name, the first one counts: Prometheus rejects a series that appears twice.
func (m *metric) series(s *live.Status) map[string]float64 {
	all := map[string]float64{}
	m.values(s, func(v float64, labels ...string) {
		name := m.name + m.labeled(labels)
		if _, there := all[name]; !there {
			all[name] = v
		}
	})
	return all
}

// labelEscaper escapes the value of a label.
var labelEscaper = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)

// labeled returns {label="value",...}, sorted by label. It replaces bytes that are not
// UTF-8, as in file names.
func (m *metric) labeled(values []string) string {
	if len(values) == 0 {
		return ""
	}
	pairs := make([]string, len(values))
	for i, v := range values {
		pairs[i] = m.labels[i] + `="` + labelEscaper.Replace(strings.ToValidUTF8(v, "\ufffd")) + `"`
	}
	slices.Sort(pairs)
	return "{" + strings.Join(pairs, ",") + "}"
}

// singleValue makes the values function of a metric without labels.
func singleValue(of func(s *live.Status) float64) func(*live.Status, func(float64, ...string)) {
	return func(s *live.Status, give func(float64, ...string)) { give(of(s)) }
}

// failureGauge returns 1 if there is a failure.
func failureGauge(failed string) float64 {
	if failed != "" {
		return 1
	}
	return 0
}

// unixSeconds returns a time in seconds since the epoch, 0 for the zero time.
func unixSeconds(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMilli()) / 1e3
}

// Metrics of the process have the names that the Prometheus libraries use, so existing
// dashboards for Go programs show them.

// started is when the process began, some milliseconds late.
var started = time.Now()

// runtimeMetrics are sums of metrics of the Go runtime.
var runtimeMetrics = []struct {
	name, help, kind string
	of               []string
}{
	{"go_goroutines", "Number of goroutines.", gauge, []string{"/sched/goroutines:goroutines"}},
	{"go_memstats_alloc_bytes", "Bytes of heap objects, those not yet freed among them.", gauge, []string{"/memory/classes/heap/objects:bytes"}},
	{"go_memstats_alloc_bytes_total", "Bytes of heap objects allocated since the start.", counter, []string{"/gc/heap/allocs:bytes"}},
	{"go_memstats_frees_total", "Heap objects freed since the start.", counter, []string{"/gc/heap/frees:objects", "/gc/heap/tiny/allocs:objects"}},
	{"go_memstats_heap_alloc_bytes", "Bytes of heap objects, those not yet freed among them.", gauge, []string{"/memory/classes/heap/objects:bytes"}},
	{"go_memstats_heap_idle_bytes", "Heap bytes that hold no objects.", gauge, []string{"/memory/classes/heap/released:bytes", "/memory/classes/heap/free:bytes"}},
	{"go_memstats_heap_inuse_bytes", "Heap bytes in spans that hold objects.", gauge, []string{"/memory/classes/heap/objects:bytes", "/memory/classes/heap/unused:bytes"}},
	{"go_memstats_heap_objects", "Number of heap objects.", gauge, []string{"/gc/heap/objects:objects"}},
	{"go_memstats_heap_released_bytes", "Heap bytes given back to the system.", gauge, []string{"/memory/classes/heap/released:bytes"}},
	{"go_memstats_heap_sys_bytes", "Heap bytes taken from the system.", gauge, []string{"/memory/classes/heap/objects:bytes", "/memory/classes/heap/unused:bytes", "/memory/classes/heap/released:bytes", "/memory/classes/heap/free:bytes"}},
	{"go_memstats_mallocs_total", "Heap objects allocated since the start.", counter, []string{"/gc/heap/allocs:objects", "/gc/heap/tiny/allocs:objects"}},
	{"go_memstats_next_gc_bytes", "Heap size at which the next garbage collection begins.", gauge, []string{"/gc/heap/goal:bytes"}},
	{"go_memstats_stack_inuse_bytes", "Bytes of goroutine stacks.", gauge, []string{"/memory/classes/heap/stacks:bytes"}},
	{"go_memstats_sys_bytes", "Bytes taken from the system.", gauge, []string{"/memory/classes/total:bytes"}},
	{"go_sched_gomaxprocs_threads", "Threads that run Go code at a time.", gauge, []string{"/sched/gomaxprocs:threads"}},
}

// processMetrics returns the current metrics of the process, sorted by name.
func processMetrics() []metric {
	all := []metric{buildInfo()}
	for _, m := range runtimeMetrics {
		samples := make([]metrics.Sample, len(m.of))
		for i, name := range m.of {
			samples[i].Name = name
		}
		metrics.Read(samples)
		sum := 0.0
		for _, s := range samples {
			sum += float64(s.Value.Uint64())
		}
		all = append(all, constant(m.name, m.help, m.kind, sum))
	}
	all = append(all, metric{"go_info", "The version of Go.", gauge, []string{"version"},
		func(_ *live.Status, give func(float64, ...string)) { give(1, runtime.Version()) }})
	return append(all, systemMetrics()...)
}

// constant returns a metric with one value.
func constant(name, help, kind string, v float64) metric {
	return metric{name, help, kind, nil, singleValue(func(*live.Status) float64 { return v })}
}

// buildInfo returns the metric of the module and its version.
func buildInfo() metric {
	return metric{"go_build_info", "The main module of the program.", gauge, []string{"checksum", "path", "version"},
		func(_ *live.Status, give func(float64, ...string)) {
			if info, ok := debug.ReadBuildInfo(); ok {
				give(1, info.Main.Sum, info.Main.Path, info.Main.Version)
			}
		}}
}

// systemMetrics returns what Linux reports about the process. On other systems, which
// cannot capture, it returns only the start time.
func systemMetrics() []metric {
	const ticks = 100 // USER_HZ
	var all []metric
	cpu, virtual, resident, ok := processStat()
	if ok {
		all = append(all, constant("process_cpu_seconds_total", "Processor time used, in seconds.", counter, cpu/ticks))
	}
	if limits, err := os.ReadFile("/proc/self/limits"); err == nil {
		if _, rest, found := strings.Cut(string(limits), "Max open files"); found {
			if most, err := strconv.ParseFloat(strings.Fields(rest)[0], 64); err == nil {
				all = append(all, constant("process_max_fds", "Most files that may be open.", gauge, most))
			}
		}
	}
	if open, err := os.ReadDir("/proc/self/fd"); err == nil {
		all = append(all, constant("process_open_fds", "Files that are open.", gauge, float64(len(open)-1))) // but for the folder
	}
	if ok {
		all = append(all, constant("process_resident_memory_bytes", "Memory in use, in bytes.", gauge, resident*float64(os.Getpagesize())))
	}
	all = append(all, constant("process_start_time_seconds", "When the process began, in seconds since the epoch.", gauge, unixSeconds(started)))
	if ok {
		all = append(all, constant("process_virtual_memory_bytes", "Address space in use, in bytes.", gauge, virtual))
	}
	return all
}

// processStat reads /proc/self/stat (proc(5)): processor time in ticks, address space in
// bytes, memory in pages.
func processStat() (cpu, virtual, resident float64, ok bool) {
	text, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return 0, 0, 0, false
	}
	// The program's name is in parentheses, and may contain some.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	var numbers [4]float64
	for i, at := range [4]int{11, 12, 20, 21} { // utime, stime, vsize, rss
		if at >= len(fields) {
			return 0, 0, 0, false
		}
		if numbers[i], err = strconv.ParseFloat(fields[at], 64); err != nil {
			return 0, 0, 0, false
		}
	}
	return numbers[0] + numbers[1], numbers[2], numbers[3], true
}
