package monitor

import (
	"strconv"

	"github.com/flowdedup/flowdedup/capture/ring"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/live"
)

// usualProtocols have a value also while they have no duplicates: rates are 0 then, and
// not unknown, and hold the first ones.
var usualProtocols = []string{"tcp", "udp", "icmp", "icmpv6", "non_ip"}

var trafficMetrics = []metric{
	{"start_time_seconds", "When the run began, in seconds since the epoch.", gauge, nil,
		single(func(s *live.Status) float64 { return epoch(s.Started) })},
	{"last_status_timestamp_seconds", "When all the other values were taken, in seconds since the epoch.", gauge, nil,
		single(func(s *live.Status) float64 { return epoch(s.Now) })},
	{"packets_total", "Packets judged.", counter, nil,
		single(func(s *live.Status) float64 { return float64(s.PacketsIn) })},
	{"bytes_total", "Captured bytes of the packets judged.", counter, nil,
		single(func(s *live.Status) float64 { return float64(s.BytesIn) })},
	{"kept_bytes_total", "Captured bytes of the packets that are no duplicates.", counter, nil,
		single(func(s *live.Status) float64 { return float64(s.BytesOut) })},
	{"duplicates_total", "Duplicates found, by protocol.", counter, []string{"protocol"},
		func(s *live.Status, give func(float64, ...string)) {
			for protocol, n := range s.DuplicatesByProtocol {
				give(float64(n), protocol)
			}
			for _, protocol := range usualProtocols {
				if _, there := s.DuplicatesByProtocol[protocol]; !there {
					give(0, protocol)
				}
			}
		}},
	{"duplicates_sampled_total", "Duplicates compared with what they copy, chosen by digest.", counter, nil,
		single(func(s *live.Status) float64 { return float64(s.Diffs.Sampled) })},
	{"duplicate_reasons_sampled_total", "Sampled duplicates by how they differ from what they copy; one may differ in several ways.", counter, []string{"reason"},
		func(s *live.Status, give func(float64, ...string)) {
			for _, r := range diffCounts(&s.Diffs) {
				give(float64(r.count), r.name)
			}
		}},
}

var ringLabels = []string{"interface", "ring"}

// eachRing takes a value of each ring.
func eachRing(of func(r *ring.Stats) uint64) func(*live.Status, func(float64, ...string)) {
	return func(s *live.Status, give func(float64, ...string)) {
		for i := range s.Rings {
			r := &s.Rings[i]
			give(float64(of(r)), r.Interface, strconv.Itoa(r.Ring))
		}
	}
}

var kernelMetrics = []metric{
	{"kernel_received_total", "Packets that passed the kernel's filter, the dropped ones among them.", counter, ringLabels,
		eachRing(func(r *ring.Stats) uint64 { return r.Received })},
	{"kernel_dropped_total", "Packets that the kernel dropped since the ring was full.", counter, ringLabels,
		eachRing(func(r *ring.Stats) uint64 { return r.Dropped })},
	{"kernel_freezes_total", "How often the ring became full.", counter, ringLabels,
		eachRing(func(r *ring.Stats) uint64 { return r.Freezes })},
	{"ring_delivered_total", "Packets taken out of the ring.", counter, ringLabels,
		eachRing(func(r *ring.Stats) uint64 { return r.Delivered })},
	{"ring_cut_total", "Packets captured in part.", counter, ringLabels,
		eachRing(func(r *ring.Stats) uint64 { return r.Truncated })},
	{"ring_merged_total", "Packets that the host had put together of several (GRO, GSO).", counter, ringLabels,
		eachRing(func(r *ring.Stats) uint64 { return r.Coalesced })},
	{"ring_no_checksum_total", "Packets with checksums that the host had left to be filled in.", counter, ringLabels,
		eachRing(func(r *ring.Stats) uint64 { return r.ChecksumOffloaded })},
	{"ring_tagged_total", "Packets with a VLAN tag that was put back.", counter, ringLabels,
		eachRing(func(r *ring.Stats) uint64 { return r.Tagged })},
	{"ring_hardware_timed_total", "Packets with the time of the network card.", counter, ringLabels,
		eachRing(func(r *ring.Stats) uint64 { return r.Hardware })},
	{"ring_outages_total", "How often the interface went down or away.", counter, ringLabels,
		eachRing(func(r *ring.Stats) uint64 { return r.Outages })},
	{"ring_interface_down", "1 while the interface is down or away.", gauge, ringLabels,
		eachRing(func(r *ring.Stats) uint64 {
			if r.Down {
				return 1
			}
			return 0
		})},
}
