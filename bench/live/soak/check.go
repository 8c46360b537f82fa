// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// The metrics to check, by their names under /metrics.
const (
	received   = "flowdedup_kernel_received_total"
	dropped    = "flowdedup_kernel_dropped_total"
	packets    = "flowdedup_packets_total"
	files      = "flowdedup_output_files_total"
	resident   = "process_resident_memory_bytes"
	heap       = "go_memstats_heap_inuse_bytes"
	goroutines = "go_goroutines"
	open       = "process_open_fds"
)

const sampleHead = "  time  received/s   dropped  rss MiB  goroutines  open  files  event"

// printSample prints the last sample.
func (s *soak) printSample() {
	n := len(s.samples) - 1
	now, rate := s.samples[n].shown, 0.0
	if n > 0 && !s.restarted(n) {
		rate = s.grown(n, received) / s.samples[n].when.Sub(s.samples[n-1].when).Seconds()
	}
	fmt.Fprintf(s.out, "%6v %11.0f %9.0f %8.1f %11.0f %5.0f %6.0f  %s\n", s.samples[n].when.Sub(s.begin).Round(time.Second),
		rate, now[dropped], now[resident]/(1<<20), now[goroutines], now[open], now[files], s.samples[n].event)
}

// grown returns by how much a value grew from sample n-1 to sample n.
func (s *soak) grown(n int, name string) float64 {
	return s.samples[n].shown[name] - s.samples[n-1].shown[name]
}

// restarted reports whether sample n is the first of a process.
func (s *soak) restarted(n int) bool {
	return slices.ContainsFunc(s.launched, func(t time.Time) bool {
		return t.After(s.samples[n-1].when) && t.Before(s.samples[n].when)
	})
}

// check returns an error for each problem.
func (s *soak) check() error {
	errs := []error{s.checkCalm(), s.checkGrowth()}
	if text := s.log(); strings.Count(text, " resumed ") != len(s.launched)-1 {
		errs = append(errs, errors.New("the state was not taken up again"))
	}
	if text := s.log(); !strings.Contains(text, "output failed") || !strings.Contains(text, "output works again") {
		errs = append(errs, errors.New("the full disk did not stop the files, or they did not go on"))
	}
	if len(s.launched) != 2 {
		errs = append(errs, errors.New("not every event happened"))
	}
	return errors.Join(errs...)
}

// checkCalm requires packets and no drops between samples without an event.
func (s *soak) checkCalm() error {
	var errs []error
	for n := 1; n < len(s.samples); n++ {
		if s.samples[n].event != "" || s.restarted(n) {
			continue
		}
		at := s.samples[n].when.Sub(s.begin).Round(time.Second)
		if drops := s.grown(n, dropped); drops != 0 {
			errs = append(errs, fmt.Errorf("%.0f packets dropped before %v, when nothing was wrong", drops, at))
		}
		if s.grown(n, packets) == 0 {
			errs = append(errs, fmt.Errorf("no packets before %v", at))
		}
	}
	return errors.Join(errs...)
}

// warmUp is how long filters and counters of a process may take to grow to their size.
const warmUp = 90 * time.Second

// fewest is the number of samples needed to detect growth.
const fewest = 9

// limits of growth, from the first to the last third of the samples of a process. Resident
// memory moves by whole tables of counters, of 16 MiB here, which lie outside of the heap: a
// closed window's table is there until the garbage collector frees it. One more is no growth.
var limits = []struct {
	name string
	most func(first float64) float64
}{
	{resident, func(float64) float64 { return 24 << 20 }},
	{heap, func(first float64) float64 { return max(4<<20, first/20) }},
	{goroutines, func(float64) float64 { return 2 }},
	{open, func(float64) float64 { return 2 }},
}

// checkGrowth compares medians within each process that ran long enough.
func (s *soak) checkGrowth() error {
	var errs []error
	for i, launched := range s.launched {
		ended := time.Now()
		if i+1 < len(s.launched) {
			ended = s.launched[i+1]
		}
		warm := slices.DeleteFunc(slices.Clone(s.samples), func(x sample) bool {
			return x.when.Before(launched.Add(warmUp)) || x.when.After(ended)
		})
		if len(warm) < fewest {
			fmt.Fprintf(s.out, "process %d did not live long enough to measure growth\n", i+1)
			continue
		}
		third := len(warm) / 3
		for _, l := range limits {
			first, last := median(warm[:third], l.name), median(warm[len(warm)-third:], l.name)
			if last-first > l.most(first) {
				errs = append(errs, fmt.Errorf("%s of process %d grew from %.0f to %.0f", l.name, i+1, first, last))
			}
		}
	}
	return errors.Join(errs...)
}

// median returns the median of a value.
func median(samples []sample, name string) float64 {
	var all []float64
	for i := range samples {
		all = append(all, samples[i].shown[name])
	}
	slices.Sort(all)
	return all[len(all)/2]
}
