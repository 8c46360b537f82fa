// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"github.com/flowdedup/flowdedup/capture/pcapoverip"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/monitor"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/web"
)

// flowMetric is a metric of a run on flow records. Its name lacks "flowdedup_flows_".
type flowMetric web.Metric[*flowStatus]

// flowMetrics returns all metrics of a run on flow records, sorted by name.
func flowMetrics() []web.Metric[*flowStatus] {
	var all []web.Metric[*flowStatus]
	for _, m := range flowTable {
		m.Name = "flowdedup_flows_" + m.Name
		all = append(all, web.Metric[*flowStatus](m))
	}
	return append(all,
		web.Metric[*flowStatus]{Name: "flowdedup_" + monitor.StatusName, Help: monitor.StatusHelp, Kind: web.Gauge,
			Values: func(s *flowStatus, give func(float64, ...string)) { give(web.UnixSeconds(s.now)) }},
		web.Metric[*flowStatus]{Name: "flowdedup_" + monitor.StartName, Help: monitor.StartHelp, Kind: web.Gauge,
			Values: func(s *flowStatus, give func(float64, ...string)) { give(web.UnixSeconds(s.started())) }})
}

// ofFlows gives one value.
func ofFlows(of func(s *summary) uint64) func(*flowStatus, func(float64, ...string)) {
	return func(s *flowStatus, give func(float64, ...string)) { give(float64(of(s.summary))) }
}

// eachFlowPoint gives a value per point.
func eachFlowPoint(of func(p *pointSummary) float64) func(*flowStatus, func(float64, ...string)) {
	return func(s *flowStatus, give func(float64, ...string)) {
		for i := range s.Points {
			give(of(&s.Points[i]), s.Points[i].Name)
		}
	}
}

// ofFlowPeers gives a value of runs that peers connect to.
func ofFlowPeers(of func(p *pcapoverip.ReceiverStats) float64) func(*flowStatus, func(float64, ...string)) {
	return func(s *flowStatus, give func(float64, ...string)) {
		if s.ReceiverStats != nil {
			give(of(s.ReceiverStats))
		}
	}
}

// ofRelay gives a value of runs that send messages on.
func ofRelay(of func(r *relaySummary) uint64) func(*flowStatus, func(float64, ...string)) {
	return func(s *flowStatus, give func(float64, ...string)) {
		if s.Relayed != nil {
			give(float64(of(s.Relayed)))
		}
	}
}

var pointLabel = []string{"point"}

// flowTable has all metrics, sorted by name.
var flowTable = []flowMetric{
	{"bytes_total", "Bytes that records reported.", web.Counter, nil, ofFlows(func(s *summary) uint64 { return s.BytesIn })},
	{"copied_bytes_total", "Bytes that copies reported.", web.Counter, nil, ofFlows(func(s *summary) uint64 { return s.CopiedBytes })},
	{"copies_total", "Records that were copies.", web.Counter, nil, ofFlows(func(s *summary) uint64 { return s.Copies })},
	{"datagrams_dropped_total", "Datagrams dropped: by the kernel because a buffer was full, or unread at the end.", web.Counter, nil, ofFlows(func(s *summary) uint64 { return s.Dropped })},
	{"failing", "1 while /healthz names a failure of an input or of the state.", web.Gauge, nil,
		func(s *flowStatus, give func(float64, ...string)) {
			give(float64(min(len(s.Failing), 1)))
		}},
	{"foreign_packets_total", "Packets without a message of flow records.", web.Counter, nil, ofFlows(func(s *summary) uint64 { return s.Foreign })},
	{"fragments_total", "IP fragments that could not be reassembled.", web.Counter, nil, ofFlows(func(s *summary) uint64 { return s.Fragments })},
	{"late_total", "Records that are not counted, since their windows were closed or far ahead.", web.Counter, nil, ofFlows(func(s *summary) uint64 { return s.Late })},
	{"lost_total", "Records or messages that were lost, as sequence numbers show.", web.Counter, nil, ofFlows(func(s *summary) uint64 { return s.Lost })},
	{"memory_bytes", "Memory that grows with the input.", web.Gauge, nil, ofFlows(func(s *summary) uint64 { return uint64(s.MemoryBytes) })},
	{"memory_limit_bytes", "Limit of memory_bytes.", web.Gauge, nil, ofFlows(func(s *summary) uint64 { return uint64(s.MemoryLimit) })},
	{"messages_total", "Messages of exporters, or records of text.", web.Counter, nil, ofFlows(func(s *summary) uint64 { return s.Messages })},
	{"messages_waiting", "Messages that wait for a template.", web.Gauge, nil, ofFlows(func(s *summary) uint64 { return s.Waiting })},
	{"other_events_total", "Records of text that are no flows.", web.Counter, nil, ofFlows(func(s *summary) uint64 { return s.Other })},
	{"peers_connected", "Peers that are connected.", web.Gauge, nil, ofFlowPeers(func(p *pcapoverip.ReceiverStats) float64 { return float64(p.Connected) })},
	{"peers_dropped_total", "Peers that were refused, sent no IPFIX, or broke off.", web.Counter, nil, ofFlowPeers(func(p *pcapoverip.ReceiverStats) float64 { return float64(p.PeersDropped) })},
	{"peers_total", "Peers that have connected, or were connected to.", web.Counter, nil, ofFlowPeers(func(p *pcapoverip.ReceiverStats) float64 { return float64(p.Peers) })},
	{"point_clock_offset_seconds", "Seconds that the clock of a point is behind ours.", web.Gauge, pointLabel,
		eachFlowPoint(func(p *pointSummary) float64 { return float64(p.OffsetNS) / 1e9 })},
	{"point_copies_total", "Records of a point that were copies.", web.Counter, pointLabel, eachFlowPoint(func(p *pointSummary) float64 { return float64(p.Copies) })},
	{"point_records_total", "Records of a point.", web.Counter, pointLabel, eachFlowPoint(func(p *pointSummary) float64 { return float64(p.Records) })},
	{"reassembled_total", "Datagrams reassembled from IP fragments.", web.Counter, nil, ofFlows(func(s *summary) uint64 { return s.Reassembled })},
	{"records_total", "Records that were read.", web.Counter, nil, ofFlows(func(s *summary) uint64 { return s.RecordsIn })},
	{"relay_failed_total", "Messages that the collector did not take.", web.Counter, nil, ofRelay(func(r *relaySummary) uint64 { return r.Failed })},
	{"relayed_total", "Messages sent to the collector.", web.Counter, nil, ofRelay(func(r *relaySummary) uint64 { return r.Messages })},
	{"replayed_total", "Messages that came again.", web.Counter, nil, ofFlows(func(s *summary) uint64 { return s.Replayed })},
	{"restarts_total", "Restarts of exporters.", web.Counter, nil, ofFlows(func(s *summary) uint64 { return s.Restarts })},
	{"sampled_total", "Records of exporters that sample packets.", web.Counter, nil, ofFlows(func(s *summary) uint64 { return s.Sampled })},
	{"unchecked_total", "Records that passed unchecked.", web.Counter, nil, ofFlows(func(s *summary) uint64 { return s.Unchecked })},
	{"undecodable_total", "Records, sets and messages that could not be read.", web.Counter, nil, ofFlows(func(s *summary) uint64 { return s.Undecodable })},
	{"unread_total", "Values of text that were there and could not be read.", web.Counter, []string{"field"},
		func(s *flowStatus, give func(float64, ...string)) {
			for _, u := range s.Unread {
				give(float64(u.Values), u.Field)
			}
		}},
	{"untimed_total", "Records in no window for want of a time.", web.Counter, nil, ofFlows(func(s *summary) uint64 { return s.Untimed })},
	{"written_early_total", "Records written before they had waited for their copies, for want of memory.", web.Counter, nil, ofFlows(func(s *summary) uint64 { return s.Early })},
}
