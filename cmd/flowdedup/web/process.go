// SPDX-License-Identifier: Apache-2.0

package web

import (
	"bytes"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"time"
)

// Metrics of the process have the names that the Prometheus libraries use, so existing
// dashboards for Go programs show them.

// started is when the process began, some milliseconds late.
var started = time.Now()

// runtimeMetrics are sums of metrics of the Go runtime.
var runtimeMetrics = []struct {
	name, help, kind string
	of               []string
}{
	{"go_goroutines", "Number of goroutines.", Gauge, []string{"/sched/goroutines:goroutines"}},
	{"go_memstats_alloc_bytes", "Bytes of heap objects, those not yet freed among them.", Gauge, []string{"/memory/classes/heap/objects:bytes"}},
	{"go_memstats_alloc_bytes_total", "Bytes of heap objects allocated since the start.", Counter, []string{"/gc/heap/allocs:bytes"}},
	{"go_memstats_frees_total", "Heap objects freed since the start.", Counter, []string{"/gc/heap/frees:objects", "/gc/heap/tiny/allocs:objects"}},
	{"go_memstats_heap_alloc_bytes", "Bytes of heap objects, those not yet freed among them.", Gauge, []string{"/memory/classes/heap/objects:bytes"}},
	{"go_memstats_heap_idle_bytes", "Heap bytes that hold no objects.", Gauge, []string{"/memory/classes/heap/released:bytes", "/memory/classes/heap/free:bytes"}},
	{"go_memstats_heap_inuse_bytes", "Heap bytes in spans that hold objects.", Gauge, []string{"/memory/classes/heap/objects:bytes", "/memory/classes/heap/unused:bytes"}},
	{"go_memstats_heap_objects", "Number of heap objects.", Gauge, []string{"/gc/heap/objects:objects"}},
	{"go_memstats_heap_released_bytes", "Heap bytes given back to the system.", Gauge, []string{"/memory/classes/heap/released:bytes"}},
	{"go_memstats_heap_sys_bytes", "Heap bytes taken from the system.", Gauge, []string{"/memory/classes/heap/objects:bytes", "/memory/classes/heap/unused:bytes", "/memory/classes/heap/released:bytes", "/memory/classes/heap/free:bytes"}},
	{"go_memstats_mallocs_total", "Heap objects allocated since the start.", Counter, []string{"/gc/heap/allocs:objects", "/gc/heap/tiny/allocs:objects"}},
	{"go_memstats_next_gc_bytes", "Heap size at which the next garbage collection begins.", Gauge, []string{"/gc/heap/goal:bytes"}},
	{"go_memstats_stack_inuse_bytes", "Bytes of goroutine stacks.", Gauge, []string{"/memory/classes/heap/stacks:bytes"}},
	{"go_memstats_sys_bytes", "Bytes taken from the system.", Gauge, []string{"/memory/classes/total:bytes"}},
	{"go_sched_gomaxprocs_threads", "Threads that run Go code at a time.", Gauge, []string{"/sched/gomaxprocs:threads"}},
}

// processMetrics returns the current metrics of the process, sorted by name.
func processMetrics() []Metric[any] {
	all := []Metric[any]{buildInfo()}
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
	all = append(all, Metric[any]{"go_info", "The version of Go.", Gauge, []string{"version"},
		func(_ any, give func(float64, ...string)) { give(1, runtime.Version()) }})
	return append(all, systemMetrics()...)
}

// constant returns a metric with one value.
func constant(name, help, kind string, v float64) Metric[any] {
	return Metric[any]{name, help, kind, nil, func(_ any, give func(float64, ...string)) { give(v) }}
}

// buildInfo returns the metric of the module and its version.
func buildInfo() Metric[any] {
	return Metric[any]{"go_build_info", "The main module of the program.", Gauge, []string{"checksum", "path", "version"},
		func(_ any, give func(float64, ...string)) {
			if info, ok := debug.ReadBuildInfo(); ok {
				give(1, info.Main.Sum, info.Main.Path, info.Main.Version)
			}
		}}
}

// systemMetrics returns Linux's metrics of the process. On other systems, which cannot
// capture, it returns only the start time.
func systemMetrics() []Metric[any] {
	const ticks = 100 // USER_HZ
	var all []Metric[any]
	cpu, virtual, resident, ok := processStat()
	if ok {
		all = append(all, constant("process_cpu_seconds_total", "Processor time used, in seconds.", Counter, cpu/ticks))
	}
	if limits, err := os.ReadFile("/proc/self/limits"); err == nil {
		if _, rest, found := strings.Cut(string(limits), "Max open files"); found {
			if most, err := strconv.ParseFloat(strings.Fields(rest)[0], 64); err == nil {
				all = append(all, constant("process_max_fds", "Most files that may be open.", Gauge, most))
			}
		}
	}
	if open, err := os.ReadDir("/proc/self/fd"); err == nil {
		all = append(all, constant("process_open_fds", "Files that are open.", Gauge, float64(len(open)-1))) // except the folder
	}
	if ok {
		all = append(all, constant("process_resident_memory_bytes", "Memory in use, in bytes.", Gauge, resident*float64(os.Getpagesize())))
	}
	all = append(all, constant("process_start_time_seconds", "When the process began, in seconds since the epoch.", Gauge, UnixSeconds(started)))
	if ok {
		all = append(all, constant("process_virtual_memory_bytes", "Address space in use, in bytes.", Gauge, virtual))
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
