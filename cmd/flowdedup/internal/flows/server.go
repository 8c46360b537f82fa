// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"io"
	"slices"
	"sync"
	"time"

	"github.com/flowdedup/flowdedup/capture/pcapoverip"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/monitor"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/page"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/web"
)

// server shows a run on flow records over HTTP, as monitor.Server shows one on packets.
// Methods may be called concurrently.
type server struct {
	*web.Server

	mu      sync.Mutex
	last    *summary // nil before the first
	losses  monitor.Losses
	updated time.Time
}

// pageEvery is how often browsers load the page again. It is longer than for a run on
// packets.
const pageEvery = 5 * time.Second

// listen serves on addr, the value of a flag, with the tokens of a file, as monitor.Listen does. The page names the
// origin.
func listen(addr, tokens string, of cli.Origin) (s *server, err error) {
	s = new(server)
	all := allMetrics()
	s.Server, err = web.Listen(addr, tokens, web.Content{
		Page: func(w io.Writer, paused bool) error {
			last := s.status().summary
			if last == nil {
				last = new(summary)
			}
			p := newPage(last, of)
			p.Origin, p.Alerts = of.Now(), s.health().Reasons
			p.Live = &page.Live{Every: pageEvery, Paused: paused, Paths: []string{"/metrics", "/healthz"}}
			return p.Write(w)
		},
		Refresh: pageEvery, Health: s.health,
		Metrics: func(w io.Writer) error {
			if last := s.status(); last.summary != nil {
				return web.WriteMetrics(w, all, last)
			}
			return nil
		},
	})
	return s, err
}

// update takes the summary so far. The caller must not change it afterwards.
func (s *server) update(summary *summary) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last, s.updated = summary, time.Now()
	if r := summary.Relayed; r != nil {
		s.losses.Add(s.updated, []monitor.Loss{{Where: "to " + r.To, What: "messages not taken", Count: r.Failed}})
	}
}

// status is a summary, nil before the first, and when it was given.
type status struct {
	*summary
	now time.Time
}

// started is when the run began.
func (s *status) started() time.Time {
	return s.now.Add(-s.Took)
}

func (s *server) status() *status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &status{s.last, s.updated}
}

// health reports current failures and recent losses.
func (s *server) health() web.Health {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last == nil {
		return web.HealthAt(s.updated, nil)
	}
	return web.HealthAt(s.updated, append(slices.Clone(s.last.Failing), s.losses.Recent(time.Now())...))
}

// metric is a metric of a run on flow records. Its name lacks "flowdedup_flows_".
type metric web.Metric[*status]

type values = web.Values[*status]

// allMetrics returns the metrics of a run on flow records, sorted by name.
func allMetrics() []web.Metric[*status] {
	var all []web.Metric[*status]
	for _, m := range metrics {
		m.Name = "flowdedup_flows_" + m.Name
		all = append(all, web.Metric[*status](m))
	}
	return append(all,
		web.Metric[*status]{Name: "flowdedup_" + monitor.StatusName, Help: monitor.StatusHelp, Kind: web.Gauge,
			Values: func(s *status, give func(float64, ...string)) { give(web.UnixSeconds(s.now)) }},
		web.Metric[*status]{Name: "flowdedup_" + monitor.StartName, Help: monitor.StartHelp, Kind: web.Gauge,
			Values: func(s *status, give func(float64, ...string)) { give(web.UnixSeconds(s.started())) }})
}

// ofSummary gives one value.
func ofSummary(of func(s *summary) uint64) values {
	return func(s *status, give func(float64, ...string)) { give(float64(of(s.summary))) }
}

// eachPoint gives a value per point.
func eachPoint(of func(p *pointSummary) float64) values {
	return web.Each(func(s *status) []pointSummary { return s.Points }, func(p *pointSummary) []string { return []string{p.Name} }, of)
}

// ofPeers gives a value of runs that peers connect to.
func ofPeers(of func(p *pcapoverip.ReceiverStats) float64) values {
	return web.Part(func(s *status) *pcapoverip.ReceiverStats { return s.ReceiverStats }, of)
}

// ofRelay gives a value of runs that send messages on.
func ofRelay(of func(r *relaySummary) uint64) values {
	return web.Part(func(s *status) *relaySummary { return s.Relayed }, func(r *relaySummary) float64 { return float64(of(r)) })
}

var pointLabel = []string{"point"}

// metrics has the metrics of flows, sorted by name.
var metrics = []metric{
	{"bytes_total", "Bytes that records reported.", web.Counter, nil, ofSummary(func(s *summary) uint64 { return s.BytesIn })},
	{"copied_bytes_total", "Bytes that copies reported.", web.Counter, nil, ofSummary(func(s *summary) uint64 { return s.CopiedBytes })},
	{"copies_total", "Records that were copies.", web.Counter, nil, ofSummary(func(s *summary) uint64 { return s.Copies })},
	{"datagrams_dropped_total", "Datagrams dropped: by the kernel because a buffer was full, or unread at the end.", web.Counter, nil, ofSummary(func(s *summary) uint64 { return s.Dropped })},
	{"failing", "1 while /healthz names a failure of an input or of the state.", web.Gauge, nil,
		func(s *status, give func(float64, ...string)) { give(web.Bool(len(s.Failing) > 0)) }},
	{"foreign_packets_total", "Packets without a message of flow records.", web.Counter, nil, ofSummary(func(s *summary) uint64 { return s.Foreign })},
	{"fragments_total", "IP fragments that could not be reassembled.", web.Counter, nil, ofSummary(func(s *summary) uint64 { return s.Fragments })},
	{"late_total", "Records that are not counted, since their windows were closed or far ahead.", web.Counter, nil, ofSummary(func(s *summary) uint64 { return s.Late })},
	{"lost_total", "Records or messages that were lost, as sequence numbers show.", web.Counter, nil, ofSummary(func(s *summary) uint64 { return s.Lost })},
	{"memory_bytes", "Memory that grows with the input.", web.Gauge, nil, ofSummary(func(s *summary) uint64 { return uint64(s.MemoryBytes) })},
	{"memory_limit_bytes", "Limit of memory_bytes.", web.Gauge, nil, ofSummary(func(s *summary) uint64 { return uint64(s.MemoryLimit) })},
	{"messages_total", "Messages of exporters, or records of text.", web.Counter, nil, ofSummary(func(s *summary) uint64 { return s.Messages })},
	{"messages_waiting", "Messages that wait for a template.", web.Gauge, nil, ofSummary(func(s *summary) uint64 { return s.Waiting })},
	{"no_room_total", "Records that passed unchecked for want of memory.", web.Counter, nil, ofSummary(func(s *summary) uint64 { return s.NoRoom })},
	{"other_events_total", "Records of text that are no flows.", web.Counter, nil, ofSummary(func(s *summary) uint64 { return s.Other })},
	{"peers_connected", "Peers that are connected.", web.Gauge, nil, ofPeers(func(p *pcapoverip.ReceiverStats) float64 { return float64(p.Connected) })},
	{"peers_dropped_total", "Peers that were refused, sent no IPFIX, or broke off.", web.Counter, nil, ofPeers(func(p *pcapoverip.ReceiverStats) float64 { return float64(p.PeersDropped) })},
	{"peers_total", "Peers that have connected, or were connected to.", web.Counter, nil, ofPeers(func(p *pcapoverip.ReceiverStats) float64 { return float64(p.Peers) })},
	{"point_clock_offset_seconds", "Seconds that the clock of a point is behind ours.", web.Gauge, pointLabel,
		eachPoint(func(p *pointSummary) float64 { return float64(p.Offset) / 1e9 })},
	{"point_copies_total", "Records of a point that were copies.", web.Counter, pointLabel, eachPoint(func(p *pointSummary) float64 { return float64(p.Copies) })},
	{"point_records_total", "Records of a point.", web.Counter, pointLabel, eachPoint(func(p *pointSummary) float64 { return float64(p.Records) })},
	{"reassembled_total", "Datagrams reassembled from IP fragments.", web.Counter, nil, ofSummary(func(s *summary) uint64 { return s.Reassembled })},
	{"records_total", "Records that were read.", web.Counter, nil, ofSummary(func(s *summary) uint64 { return s.RecordsIn })},
	{"relay_failed_total", "Messages that the collector did not take.", web.Counter, nil, ofRelay(func(r *relaySummary) uint64 { return r.Failed })},
	{"relayed_total", "Messages sent to the collector.", web.Counter, nil, ofRelay(func(r *relaySummary) uint64 { return r.Messages })},
	{"replayed_total", "Messages that came again.", web.Counter, nil, ofSummary(func(s *summary) uint64 { return s.Replayed })},
	{"restarts_total", "Restarts of exporters.", web.Counter, nil, ofSummary(func(s *summary) uint64 { return s.Restarts })},
	{"sampled_total", "Records of exporters that sample packets.", web.Counter, nil, ofSummary(func(s *summary) uint64 { return s.Sampled })},
	{"unchecked_total", "Records that passed unchecked.", web.Counter, nil, ofSummary(func(s *summary) uint64 { return s.Unchecked })},
	{"undecodable_total", "Records, sets and messages that could not be read.", web.Counter, nil, ofSummary(func(s *summary) uint64 { return s.Undecodable })},
	{"unread_total", "Values that were there and could not be read, and impossible times.", web.Counter, []string{"field"},
		web.Each(func(s *status) []unreadSummary { return s.Unread }, func(u *unreadSummary) []string { return []string{u.Field} },
			func(u *unreadSummary) float64 { return float64(u.Values) })},
	{"untimed_total", "Records in no window for want of a time.", web.Counter, nil, ofSummary(func(s *summary) uint64 { return s.Untimed })},
	{"written_early_total", "Records written before they had waited for their copies, for want of memory.", web.Counter, nil, ofSummary(func(s *summary) uint64 { return s.Early })},
}
