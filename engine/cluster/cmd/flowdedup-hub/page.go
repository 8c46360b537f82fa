package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/flowdedup/flowdedup/engine/cluster/counts"
	"github.com/flowdedup/flowdedup/engine/cluster/hub"
)

// handler serves the page, /metrics and /status.json. Browsers load the page again by
// themselves.
func handler(status func() hub.Status, past *history) http.Handler {
	mux := http.NewServeMux()
	serve := func(path, contentType string, write func(w io.Writer, st hub.Status) error) {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", contentType)
			if path == pagePath {
				w.Header().Set("Refresh", "5")
			}
			_ = write(w, status()) // the reader has gone
		})
	}
	serve(pagePath, "text/html; charset=utf-8", func(w io.Writer, st hub.Status) error { return writePage(w, &st, past) })
	serve("/status.json", "application/json", func(w io.Writer, st hub.Status) error { return json.NewEncoder(w).Encode(st) })
	serve("/metrics", "text/plain; version=0.0.4; charset=utf-8", writeMetrics)
	return mux
}

const pagePath = "/{$}"

// metric is one of the Prometheus text format.
type metric struct {
	name, kind, help string
	values           func(st *hub.Status, give func(v float64, labels ...string))
}

// eachSite is the values of a metric by site.
func eachSite(value func(s *hub.SiteStatus) float64) func(*hub.Status, func(float64, ...string)) {
	return func(st *hub.Status, give func(float64, ...string)) {
		for i := range st.Sites {
			give(value(&st.Sites[i]), "site", st.Sites[i].Site)
		}
	}
}

// eachSlice is the values of a metric by slice.
func eachSlice(value func(s *hub.SliceStatus) float64) func(*hub.Status, func(float64, ...string)) {
	return func(st *hub.Status, give func(float64, ...string)) {
		for i := range st.PerSlice {
			give(value(&st.PerSlice[i]), "slice", strconv.Itoa(st.PerSlice[i].Slice))
		}
	}
}

// eachCount is the values of a metric by key and family, of the latest window.
func eachCount(value func(r *counts.Row) float64) func(*hub.Status, func(float64, ...string)) {
	return func(st *hub.Status, give func(float64, ...string)) {
		if st.Counts == nil || len(st.Counts.Rows) == 0 {
			return
		}
		rows := st.Counts.Rows
		last := rows[len(rows)-1].WindowStart
		for i := range rows {
			if r := &rows[i]; last != nil && r.WindowStart != nil && r.WindowStart.Equal(*last) {
				give(value(r), "of", r.Of, "family", r.Family)
			}
		}
	}
}

// ofCounts is the value of a metric of all counts.
func ofCounts(value func(c *hub.CountsStatus) float64) func(*hub.Status, func(float64, ...string)) {
	return func(st *hub.Status, give func(float64, ...string)) {
		if st.Counts != nil {
			give(value(st.Counts))
		}
	}
}

var metrics = []metric{
	{"site_digests_total", "counter", "Digests that a site has sent.", eachSite(func(s *hub.SiteStatus) float64 { return float64(s.Digests) })},
	{"site_copies_total", "counter", "Digests of packets that another site had sent.", eachSite(func(s *hub.SiteStatus) float64 { return float64(s.Copies) })},
	{"site_unchecked_total", "counter", "Packets that a site passed without an answer, as it reports.", eachSite(func(s *hub.SiteStatus) float64 { return float64(s.Unchecked) })},
	{"site_bad_requests_total", "counter", "Requests of a site that no sensor sends.", eachSite(func(s *hub.SiteStatus) float64 { return float64(s.Bad) })},
	{"site_answer_p99_seconds", "gauge", "99 % of a site's recent answers came within this time, as it reports.", eachSite(func(s *hub.SiteStatus) float64 { return s.RTTP99US / 1e6 })},
	{"site_clock_offset_seconds", "gauge", "How far a site's clock is ahead.", func(st *hub.Status, give func(float64, ...string)) {
		for _, s := range st.Sites {
			if s.OffsetUS != nil {
				give(float64(*s.OffsetUS)/1e6, "site", s.Site, "of", s.OffsetOf)
			}
		}
	}},
	{"copies_total", "counter", "Copies at one site of packets that another sent first.", func(st *hub.Status, give func(float64, ...string)) {
		for _, p := range st.Matrix {
			give(float64(p.Copies), "first", p.First, "copy", p.Copy)
		}
	}},
	{"slices", "gauge", "Slices of the filter.", func(st *hub.Status, give func(float64, ...string)) { give(float64(st.Slices)) }},
	{"slices_owned", "gauge", "Slices that a hub answers for, of those that this page knows of.", func(st *hub.Status, give func(float64, ...string)) { give(float64(st.Owned)) }},
	{"slice_digests_total", "counter", "Digests that a slice has taken.", eachSlice(func(s *hub.SliceStatus) float64 { return float64(s.Digests) })},
	{"slice_fill_ratio", "gauge", "Share of a slice's cells that the window uses.", eachSlice(func(s *hub.SliceStatus) float64 { return s.Fill })},
	{"slice_fpr", "gauge", "Probability that a packet is wrongly taken for a copy.", eachSlice(func(s *hub.SliceStatus) float64 { return s.FPR })},
	{"slice_evicted_live_total", "counter", "Digests that were forgotten within the window.", eachSlice(func(s *hub.SliceStatus) float64 { return float64(s.EvictedLive) })},
	{"slice_memory_bytes", "gauge", "Memory of a slice.", eachSlice(func(s *hub.SliceStatus) float64 { return float64(s.MemoryBytes) })},
	{"distinct", "gauge", "Distinct keys of the latest window, over all sites that have sent it.", eachCount(func(r *counts.Row) float64 { return float64(r.Distinct) })},
	{"distinct_missing_sites", "gauge", "Sites whose counts of the latest window have not come.", eachCount(func(r *counts.Row) float64 { return float64(len(r.Missing)) })},
	{"distinct_window_start_seconds", "gauge", "Begin of the latest window.", eachCount(func(r *counts.Row) float64 { return float64(r.WindowStart.UnixNano()) / 1e9 })},
	{"counts_bytes", "gauge", "Files of counts that are kept.", ofCounts(func(c *hub.CountsStatus) float64 { return float64(c.Bytes) })},
	{"counts_refused_total", "counter", "Messages with counts that were not taken.", ofCounts(func(c *hub.CountsStatus) float64 { return float64(c.Refused) })},
	{"counts_evicted_files_total", "counter", "Files of counts that made room for others.", ofCounts(func(c *hub.CountsStatus) float64 { return float64(c.Evicted) })},
	{"refused_requests_total", "counter", "Requests that were not taken.", func(st *hub.Status, give func(float64, ...string)) {
		give(float64(st.Refused.WrongEpoch), "reason", "wrong_epoch")
		give(float64(st.Refused.NotOwner), "reason", "not_owner")
		give(float64(st.Refused.Stale), "reason", "stale")
		give(float64(st.Refused.Overloaded), "reason", "overloaded")
		give(float64(st.Refused.Bad), "reason", "bad")
	}},
}

// writeMetrics writes the Prometheus text format. Labels hold names, of
// which those of keys come from sites: they are quoted.
//
// Source: https://prometheus.io/docs/instrumenting/exposition_formats
func writeMetrics(w io.Writer, st hub.Status) error {
	out := bufio.NewWriter(w)
	for _, m := range metrics {
		name := "flowdedup_hub_" + m.name
		fmt.Fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, m.help, name, m.kind)
		m.values(&st, func(v float64, labels ...string) {
			fmt.Fprint(out, name)
			for i := 0; i < len(labels); i += 2 {
				fmt.Fprintf(out, "%c%s=%q", "{,"[min(i, 1)], labels[i], labels[i+1])
			}
			fmt.Fprintf(out, "%.*s %v\n", min(len(labels), 1), "}", v)
		})
	}
	return out.Flush()
}
