// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strconv"

	"github.com/flowdedup/flowdedup/capture/certs"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/web"
	"github.com/flowdedup/flowdedup/engine/cluster/counts"
	"github.com/flowdedup/flowdedup/engine/cluster/hub"
)

// metric is a metric of the hub. Its name lacks "flowdedup_hub_".
type metric web.Metric[*hub.Status]

type values = web.Values[*hub.Status]

// hubMetrics returns all metrics. files are the certificates of the hub's server, nil for none.
func hubMetrics(files *certs.Files) []web.Metric[*hub.Status] {
	var all []web.Metric[*hub.Status]
	for _, m := range append(metrics, metric{
		"tls_certificate_expiry_timestamp_seconds", web.ExpiryHelp, web.Gauge, []string{"file"},
		func(_ *hub.Status, give func(float64, ...string)) { web.GiveExpiry(files.Expiry, give) },
	}) {
		m.Name = "flowdedup_hub_" + m.Name
		all = append(all, web.Metric[*hub.Status](m))
	}
	return all
}

// eachSite gives a value per site.
func eachSite(value func(s *hub.SiteStatus) float64) values {
	return web.Each(func(st *hub.Status) []hub.SiteStatus { return st.Sites }, func(s *hub.SiteStatus) []string { return []string{s.Site} }, value)
}

// eachSlice gives a value per slice.
func eachSlice(value func(s *hub.SliceStatus) float64) values {
	return web.Each(func(st *hub.Status) []hub.SliceStatus { return st.PerSlice },
		func(s *hub.SliceStatus) []string { return []string{strconv.Itoa(s.Slice)} }, value)
}

// eachCount gives a value per key and family, of the latest window.
func eachCount(value func(r *counts.Row) float64) values {
	return func(st *hub.Status, give func(float64, ...string)) {
		if st.Counts == nil || len(st.Counts.Rows) == 0 {
			return
		}
		rows := st.Counts.Rows
		last := rows[len(rows)-1].WindowStart
		for i := range rows {
			if r := &rows[i]; last != nil && r.WindowStart != nil && r.WindowStart.Equal(*last) {
				give(value(r), r.Of, r.Family)
			}
		}
	}
}

// ofChains gives a value of a filter that is not rows.
func ofChains(value func(c *hub.ChainStatus) float64) values {
	return web.Part(func(st *hub.Status) *hub.ChainStatus { return st.Chains }, value)
}

// ofTree gives a value of a hub below another hub.
func ofTree(value func(t *hub.TreeStatus) float64) values {
	return web.Part(func(st *hub.Status) *hub.TreeStatus { return st.Tree }, value)
}

// ofTopDown gives a value of a hub that asks the hubs below.
func ofTopDown(value func(t *hub.TopDownStatus) float64) values {
	return web.Part(func(st *hub.Status) *hub.TopDownStatus { return st.TopDown }, value)
}

// ofCounts gives a value of all distinct counts.
func ofCounts(value func(c *hub.CountsStatus) float64) values {
	return web.Part(func(st *hub.Status) *hub.CountsStatus { return st.Counts }, value)
}

var (
	siteLabel   = []string{"site"}
	sliceLabel  = []string{"slice"}
	countLabels = []string{"of", "family"}
)

// metrics are the hub's metrics. Labels of keys hold names that come from sites.
var metrics = []metric{
	{"site_digests_total", "Digests that a site has sent.", web.Counter, siteLabel, eachSite(func(s *hub.SiteStatus) float64 { return float64(s.Digests) })},
	{"site_copies_total", "Digests that were taken for copies of other sites' packets.", web.Counter, siteLabel, eachSite(func(s *hub.SiteStatus) float64 { return float64(s.Copies) })},
	{"site_unchecked_total", "Packets that a site passed without an answer, as it reports.", web.Counter, siteLabel, eachSite(func(s *hub.SiteStatus) float64 { return float64(s.Unchecked) })},
	{"site_bad_requests_total", "Requests of a site that no sensor sends.", web.Counter, siteLabel, eachSite(func(s *hub.SiteStatus) float64 { return float64(s.Bad) })},
	{"site_bans_total", "Bans of a site that did far more than sensors do.", web.Counter, siteLabel, eachSite(func(s *hub.SiteStatus) float64 { return float64(s.Bans) })},
	{"site_banned_until_seconds", "End of the last ban of a site.", web.Gauge, siteLabel, func(st *hub.Status, give func(float64, ...string)) {
		for _, s := range st.Sites {
			if s.BannedUntil != nil {
				give(float64(s.BannedUntil.UnixNano())/1e9, s.Site)
			}
		}
	}},
	{"site_answer_p99_seconds", "99 % of a site's recent answers came within this time, as it reports.", web.Gauge, siteLabel, eachSite(func(s *hub.SiteStatus) float64 { return s.AnswerP99.Seconds() })},
	{"site_clock_offset_seconds", "Time by which a site's clock is ahead.", web.Gauge, []string{"site", "of"}, func(st *hub.Status, give func(float64, ...string)) {
		for _, s := range st.Sites {
			if s.Offset != nil {
				give(s.Offset.Seconds(), s.Site, s.OffsetOf)
			}
		}
	}},
	{"copies_total", "Packets of one site that were taken for copies of packets that another sent first.", web.Counter, []string{"first", "copy"}, web.Each(
		func(st *hub.Status) []hub.PairStatus { return st.Matrix }, func(p *hub.PairStatus) []string { return []string{p.First, p.Copy} },
		func(p *hub.PairStatus) float64 { return float64(p.Copies) })},
	{"slices", "Slices of the filter.", web.Gauge, nil, func(st *hub.Status, give func(float64, ...string)) { give(float64(st.Slices)) }},
	{"slices_owned", "Slices that a hub of this page answers for.", web.Gauge, nil, func(st *hub.Status, give func(float64, ...string)) { give(float64(st.Owned)) }},
	{"slice_digests_total", "Digests that a slice has taken.", web.Counter, sliceLabel, eachSlice(func(s *hub.SliceStatus) float64 { return float64(s.Digests) })},
	{"slice_fill_ratio", "Share of a slice's cells that the window uses.", web.Gauge, sliceLabel, eachSlice(func(s *hub.SliceStatus) float64 { return s.Fill })},
	{"slice_fpr", "Probability that a packet is wrongly taken for a copy.", web.Gauge, sliceLabel, eachSlice(func(s *hub.SliceStatus) float64 { return s.FPR })},
	{"slice_evicted_live_total", "Digests that were evicted within the window.", web.Counter, sliceLabel, eachSlice(func(s *hub.SliceStatus) float64 { return float64(s.EvictedLive) })},
	{"slice_memory_bytes", "Memory of a slice.", web.Gauge, sliceLabel, eachSlice(func(s *hub.SliceStatus) float64 { return float64(s.MemoryBytes) })},
	{"slice_filters", "Filters of a slice that grows.", web.Gauge, sliceLabel, func(st *hub.Status, give func(float64, ...string)) {
		for i := range st.PerSlice {
			if n := st.PerSlice[i].Filters; n > 0 {
				give(float64(n), strconv.Itoa(st.PerSlice[i].Slice))
			}
		}
	}},
	{"slices_lost", "Slices that do not answer: they have lost their state, or have no hub.", web.Gauge, nil, ofChains(func(c *hub.ChainStatus) float64 { return float64(c.Lost) })},
	{"predicted_fpr", "Predicted share of new packets that are taken for copies, with the slices that are lost.", web.Gauge, nil, ofChains(func(c *hub.ChainStatus) float64 { return c.FPR })},
	{"predicted_fnr", "Predicted share of copies that pass, with the slices that are lost.", web.Gauge, nil, ofChains(func(c *hub.ChainStatus) float64 { return c.FNR })},
	{"chain_messages_per_digest", "Messages from slice to slice for each digest.", web.Gauge, nil, ofChains(func(c *hub.ChainStatus) float64 { return c.Hops })},
	{"chain_bits_per_digest", "Bits of messages from slice to slice for each digest.", web.Gauge, nil, ofChains(func(c *hub.ChainStatus) float64 { return c.HopBits })},
	{"slices_fairness", "Jain's index of the tests of slices, 1 if all have as many.", web.Gauge, nil, ofChains(func(c *hub.ChainStatus) float64 { return c.Fairness })},
	{"tree_digests_total", "Digests that were tested here, in a tree of hubs.", web.Counter, nil, ofTree(func(t *hub.TreeStatus) float64 { return float64(t.Digests) })},
	{"tree_hits_total", "Copies that were known here.", web.Counter, nil, ofTree(func(t *hub.TreeStatus) float64 { return float64(t.Hits) })},
	{"tree_asked_total", "Digests that the hub above was asked about.", web.Counter, nil, ofTree(func(t *hub.TreeStatus) float64 { return float64(t.Asked) })},
	{"tree_parent_hits_total", "Copies that the hub above has found.", web.Counter, nil, ofTree(func(t *hub.TreeStatus) float64 { return float64(t.HitsAbove) })},
	{"tree_unchecked_total", "Digests that the hub above has not answered in time.", web.Counter, nil, ofTree(func(t *hub.TreeStatus) float64 { return float64(t.Unchecked) })},
	{"tree_accesses_total", "Tests, and in a sparse tree sets, of this level.", web.Counter, nil, ofTree(func(t *hub.TreeStatus) float64 { return float64(t.Accesses) })},
	{"tree_messages_total", "Requests to the hub above.", web.Counter, nil, ofTree(func(t *hub.TreeStatus) float64 { return float64(t.Messages) })},
	{"tree_message_bytes_total", "Length of requests to the hub above.", web.Counter, nil, ofTree(func(t *hub.TreeStatus) float64 { return float64(t.Bytes) })},
	{"tree_messages_per_digest", "Requests to the hub above for each digest that was tested here.", web.Gauge, nil, ofTree(func(t *hub.TreeStatus) float64 { return t.PerDigest })},
	{"tree_theory_messages_per_digest", "The same with a message for each digest that is new here.", web.Gauge, nil, ofTree(func(t *hub.TreeStatus) float64 { return t.TheoryMsgs })},
	{"tree_bits_per_digest", "Bits of requests to the hub above for each digest that was tested here.", web.Gauge, nil, ofTree(func(t *hub.TreeStatus) float64 { return t.Bits })},
	{"tree_theory_bits_per_digest", "The same with k log2(m) bits for each digest that is new here.", web.Gauge, nil, ofTree(func(t *hub.TreeStatus) float64 { return t.TheoryBits })},
	{"tree_predicted_fpr", "Predicted share of new packets that are taken for copies at this level.", web.Gauge, nil, ofTree(func(t *hub.TreeStatus) float64 { return t.FPR })},
	{"tree_answer_p99_seconds", "99 % of the answers of the hub above came within this time.", web.Gauge, nil, ofTree(func(t *hub.TreeStatus) float64 { return t.AnswerP99.Seconds() })},
	{"tree_parent_up", "1 while the hub above answers.", web.Gauge, nil, ofTree(func(t *hub.TreeStatus) float64 { return web.Bool(t.Failure == "") })},
	{"topdown_probed_total", "Copies that the hubs below were asked to confirm.", web.Counter, nil, ofTopDown(func(t *hub.TopDownStatus) float64 { return float64(t.Probed) })},
	{"topdown_unconfirmed_total", "Copies that none of them holds: they are new.", web.Counter, nil, ofTopDown(func(t *hub.TopDownStatus) float64 { return float64(t.Unconfirmed) })},
	{"topdown_unanswered_total", "Copies that stay copies as a hub below has not answered in time.", web.Counter, nil, ofTopDown(func(t *hub.TopDownStatus) float64 { return float64(t.Unanswered) })},
	{"distinct", "Distinct keys of the latest window, over all sites that have sent it.", web.Gauge, countLabels, eachCount(func(r *counts.Row) float64 { return float64(r.Distinct) })},
	{"distinct_missing_sites", "Sites whose counts of the latest window have not come.", web.Gauge, countLabels, eachCount(func(r *counts.Row) float64 { return float64(len(r.Missing)) })},
	{"distinct_window_start_seconds", "Begin of the latest window.", web.Gauge, countLabels, eachCount(func(r *counts.Row) float64 { return float64(r.WindowStart.UnixNano()) / 1e9 })},
	{"counts_bytes", "Files of counts that are kept.", web.Gauge, nil, ofCounts(func(c *hub.CountsStatus) float64 { return float64(c.Bytes) })},
	{"counts_refused_total", "Messages with counts that were not taken.", web.Counter, nil, ofCounts(func(c *hub.CountsStatus) float64 { return float64(c.Refused) })},
	{"counts_evicted_files_total", "Files of counts that made room for others.", web.Counter, nil, ofCounts(func(c *hub.CountsStatus) float64 { return float64(c.Evicted) })},
	{"refused_requests_total", "Requests that were not taken.", web.Counter, []string{"reason"}, func(st *hub.Status, give func(float64, ...string)) {
		give(float64(st.Refused.WrongEpoch), "wrong_epoch")
		give(float64(st.Refused.NotOwner), "not_owner")
		give(float64(st.Refused.Stale), "stale")
		give(float64(st.Refused.Overloaded), "overloaded")
		give(float64(st.Refused.Bad), "bad")
	}},
}
