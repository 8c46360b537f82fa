package monitor

import (
	"bytes"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"time"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/live"
)

// Metrics of the process have the names that Prometheus's libraries give them, so that
// dashboards for Go programs show them.

// started is when the process began, but for some milliseconds.
var started = time.Now()

// runtimeMetrics are sums of what the Go runtime measures itself.
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

// processMetrics returns the metrics of the process as they are now, sorted by name.
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

// constant is a metric of one value.
func constant(name, help, kind string, v float64) metric {
	return metric{name, help, kind, nil, singleValue(func(*live.Status) float64 { return v })}
}

// buildInfo tells the module and its version.
func buildInfo() metric {
	return metric{"go_build_info", "The main module of the program.", gauge, []string{"checksum", "path", "version"},
		func(_ *live.Status, give func(float64, ...string)) {
			if info, ok := debug.ReadBuildInfo(); ok {
				give(1, info.Main.Sum, info.Main.Path, info.Main.Version)
			}
		}}
}

// systemMetrics returns what Linux tells of the process; elsewhere, where nothing is
// captured, only when it began.
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
	// The name of the program is in parentheses, and may hold any.
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
