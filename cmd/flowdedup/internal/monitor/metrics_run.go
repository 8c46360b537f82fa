// SPDX-License-Identifier: Apache-2.0

package monitor

import (
	"slices"
	"strconv"
	"strings"

	"github.com/flowdedup/flowdedup/capture/afpacket"
	"github.com/flowdedup/flowdedup/capture/hold"
	"github.com/flowdedup/flowdedup/capture/pcapoverip"
	"github.com/flowdedup/flowdedup/capture/reassemble"
	"github.com/flowdedup/flowdedup/capture/traits"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/sink"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/web"
)

// metric is a metric of a run on packets. Its name lacks "flowdedup_".
type metric web.Metric[*Status]

const (
	counter = web.Counter
	gauge   = web.Gauge
)

// runMetrics returns all metrics of a run, sorted by name.
func runMetrics() []web.Metric[*Status] {
	var all []web.Metric[*Status]
	for _, m := range slices.Concat(trafficMetrics, kernelMetrics, networkMetrics, filterMetrics, learnedMetrics, distinctMetrics, outputMetrics) {
		m.Name = "flowdedup_" + m.Name
		all = append(all, web.Metric[*Status](m))
	}
	slices.SortStableFunc(all, func(a, b web.Metric[*Status]) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// singleValue makes the values function of a metric without labels.
func singleValue(of func(s *Status) float64) web.Values[*Status] {
	return func(s *Status, give func(float64, ...string)) { give(of(s)) }
}

// commonProtocols have a value even without duplicates. A rate of them is then 0 instead
// of unknown, and includes their first duplicates.
var commonProtocols = []string{"tcp", "udp", "icmp", "icmpv6", "non_ip"}

// All kinds of runs have these metrics.
const (
	StartName, StartHelp   = "start_time_seconds", "When the run began, in seconds since the epoch."
	StatusName, StatusHelp = "last_status_timestamp_seconds", "When all the other values were taken, in seconds since the epoch."
)

var trafficMetrics = []metric{
	{StartName, StartHelp, gauge, nil, singleValue(func(s *Status) float64 { return web.UnixSeconds(s.Started) })},
	{StatusName, StatusHelp, gauge, nil, singleValue(func(s *Status) float64 { return web.UnixSeconds(s.Now) })},
	{"packets_total", "Packets judged.", counter, nil,
		singleValue(func(s *Status) float64 { return float64(s.PacketsIn) })},
	{"bytes_total", "Captured bytes of the packets judged.", counter, nil,
		singleValue(func(s *Status) float64 { return float64(s.BytesIn) })},
	{"kept_bytes_total", "Captured bytes of the packets that are no duplicates.", counter, nil,
		singleValue(func(s *Status) float64 { return float64(s.BytesOut) })},
	{"duplicates_total", "Duplicates found, by protocol.", counter, []string{"protocol"},
		func(s *Status, give func(float64, ...string)) {
			for protocol, n := range s.DuplicatesByProtocol {
				give(float64(n), protocol)
			}
			for _, protocol := range commonProtocols {
				if _, there := s.DuplicatesByProtocol[protocol]; !there {
					give(0, protocol)
				}
			}
		}},
	{"unopened_total", "Packets without IP, and tunnels, that were not opened, by what they hold: an ethertype, a link type and the like.", counter, []string{"what"},
		func(s *Status, give func(float64, ...string)) {
			for what, n := range s.Unopened {
				give(float64(n), what)
			}
		}},
	{"reassembled_total", "Packets in tunnels that were put together of fragments.", counter, nil,
		fragmentsValue(func(n *reassemble.Stats) uint64 { return n.Datagrams })},
	{"fragments_joined_total", "Fragments of tunnels that were put together.", counter, nil,
		fragmentsValue(func(n *reassemble.Stats) uint64 { return n.Joined })},
	{"fragments_total", "Fragments of tunnels that could not be put together, and stay as they came.", counter, nil,
		fragmentsValue(func(n *reassemble.Stats) uint64 { return n.Left })},
	{"fragments_early_total", "Those of them that did not wait longer for others, for want of memory.", counter, nil,
		fragmentsValue(func(n *reassemble.Stats) uint64 { return n.Early })},
	{"unjudged_total", "Packets that do not match --only, and are kept.", counter, nil,
		optionalValue(func(s *Status) *uint64 { return s.Unjudged })},
	{"protected_total", "Duplicates that --protect keeps.", counter, nil,
		optionalValue(func(s *Status) *uint64 { return s.Protected })},
	{"undecidable_total", "Packets truncated too short to be judged, and kept.", counter, nil,
		singleValue(func(s *Status) float64 { return float64(s.Undecidable) })},
	{"checksum_only_total", "Duplicates that are known only by a checksum of 16 bits.", counter, nil,
		singleValue(func(s *Status) float64 { return float64(s.ChecksumOnly) })},
	{"whole_preferred_total", "Packets kept instead of an equal one that was truncated.", counter, nil,
		optionalValue(func(s *Status) *uint64 { return s.WholePreferred })},
	{"checksum_preferred_total", "Packets kept instead of an equal one with a wrong checksum.", counter, nil,
		optionalValue(func(s *Status) *uint64 { return s.ChecksumPreferred })},
	{"duplicates_sampled_total", "Duplicates compared with what they copy, chosen by digest.", counter, nil,
		singleValue(func(s *Status) float64 { return float64(s.Diffs.Sampled) })},
	{"duplicate_reasons_sampled_total", "Sampled duplicates by how they differ from what they copy; one may differ in several ways.", counter, []string{"reason"},
		func(s *Status, give func(float64, ...string)) {
			for _, r := range diffCounts(&s.Diffs) {
				give(float64(r.count), r.name)
			}
		}},
	{"copies_between_points_sampled_total", "Sampled duplicates by the points where the packet was seen first and again; the first 64 pairs.", counter, []string{"first", "copy"},
		web.Each(func(s *Status) []traits.Cell { return s.Matrix }, func(c *traits.Cell) []string { return []string{c.First, c.Copy} },
			func(c *traits.Cell) float64 { return float64(c.Count) })},
	{"conversations_sampled_total", "Conversations sampled; one that goes on counts again every 16,777,216 packets.", counter, nil,
		singleValue(func(s *Status) float64 { return float64(s.Conversations.Sampled) })},
	{"split_conversations_sampled_total", "Sampled conversations whose kept packets came from more than one VLAN, tunnel or interface.", counter, nil,
		singleValue(func(s *Status) float64 { return float64(s.Conversations.Split) })},
}

// fragmentsValue is a count of fragments, if they are put together.
func fragmentsValue(count func(*reassemble.Stats) uint64) func(*Status, func(float64, ...string)) {
	return func(s *Status, give func(float64, ...string)) {
		if s.Stats != nil {
			give(float64(count(s.Stats)))
		}
	}
}

// learnedMetrics are the results of learning.
var learnedMetrics = []metric{
	{"learn_decisions_total", "Decisions what to remove, after inspections.", counter, nil,
		learnedValue(func(n *Learned) float64 { return float64(n.Decisions) })},
	{"learn_passed_total", "Packets kept without being judged.", counter, nil,
		learnedValue(func(n *Learned) float64 { return float64(n.Passed) })},
	{"learned_info", "What the last decision chose; 0 if it keeps all packets.", gauge, []string{"identity", "window", "ignore", "across", "keep"},
		func(s *Status, give func(float64, ...string)) {
			if n := s.Learned; n != nil && n.Decisions > 0 {
				give(web.Bool(n.Dedup), n.Identity, n.Window, strings.Join(n.Ignore, ","), strconv.FormatBool(n.Across), n.Keep)
			}
		}},
}

// learnedValue gives a value of runs that learn.
func learnedValue(of func(*Learned) float64) web.Values[*Status] {
	return web.Part(func(s *Status) *Learned { return s.Learned }, of)
}

// optionalValue gives a value unless it is nil.
func optionalValue(of func(s *Status) *uint64) web.Values[*Status] {
	return web.Part(of, func(n *uint64) float64 { return float64(*n) })
}

var ringLabels = []string{"interface", "ring"}

// eachRing gives a value per ring.
func eachRing(of func(r *afpacket.Stats) uint64) web.Values[*Status] {
	return web.Each(func(s *Status) []afpacket.Stats { return s.Rings }, func(r *afpacket.Stats) []string { return []string{r.Interface, strconv.Itoa(r.Ring)} },
		func(r *afpacket.Stats) float64 { return float64(of(r)) })
}

var kernelMetrics = []metric{
	{"kernel_received_total", "Packets that passed the kernel's filter, including dropped ones.", counter, ringLabels,
		eachRing(func(r *afpacket.Stats) uint64 { return r.Received })},
	{"kernel_dropped_total", "Packets that the kernel dropped, mostly because the ring was full.", counter, ringLabels,
		eachRing(func(r *afpacket.Stats) uint64 { return r.Dropped })},
	{"card_dropped_total", "Packets that the network card, its driver or the host lost before the ring, at least.", counter, ringLabels[:1],
		func(s *Status, give func(float64, ...string)) {
			for i := range s.Rings {
				if r := &s.Rings[i]; r.Ring == 0 {
					give(float64(r.Card.Lost()), r.Interface)
				}
			}
		}},
	{"kernel_freezes_total", "How often the ring became full.", counter, ringLabels,
		eachRing(func(r *afpacket.Stats) uint64 { return r.Freezes })},
	{"ring_delivered_total", "Packets taken out of the ring.", counter, ringLabels,
		eachRing(func(r *afpacket.Stats) uint64 { return r.Delivered })},
	{"ring_truncated_total", "Packets that were truncated.", counter, ringLabels,
		eachRing(func(r *afpacket.Stats) uint64 { return r.Truncated })},
	{"ring_merged_total", "Packets that the host had put together of several (GRO, GSO).", counter, ringLabels,
		eachRing(func(r *afpacket.Stats) uint64 { return r.Coalesced })},
	{"ring_no_checksum_total", "Packets with checksums that the host had left to be filled in.", counter, ringLabels,
		eachRing(func(r *afpacket.Stats) uint64 { return r.ChecksumOffloaded })},
	{"ring_tagged_total", "Packets with a VLAN tag that was put back.", counter, ringLabels,
		eachRing(func(r *afpacket.Stats) uint64 { return r.Tagged })},
	{"ring_hardware_timed_total", "Packets with the time of the network card.", counter, ringLabels,
		eachRing(func(r *afpacket.Stats) uint64 { return r.Hardware })},
	{"ring_outages_total", "How often the interface went down or away.", counter, ringLabels,
		eachRing(func(r *afpacket.Stats) uint64 { return r.Outages })},
	{"ring_interface_down", "1 while the interface is down or away.", gauge, ringLabels,
		eachRing(func(r *afpacket.Stats) uint64 {
			if r.Down {
				return 1
			}
			return 0
		})},
}

// eachAddress gives a value per address that peers are at.
func eachAddress(of func(n *pcapoverip.ReceiverStats) float64) web.Values[*Status] {
	return func(s *Status, give func(float64, ...string)) {
		for i := range s.Networks {
			if n := &s.Networks[i]; n.ReceiverStats != nil {
				give(of(n.ReceiverStats), n.Name)
			}
		}
	}
}

// eachTarget gives a value per target of mirrored traffic.
func eachTarget(of func(m *Mirrored) float64) web.Values[*Status] {
	return func(s *Status, give func(float64, ...string)) {
		for i := range s.Networks {
			if n := &s.Networks[i]; n.Mirrored != nil {
				give(of(n.Mirrored), n.Name)
			}
		}
	}
}

var networkLabel = []string{"input"}

var networkMetrics = []metric{
	{"input_peers_total", "Peers that have connected, or were connected to.", counter, networkLabel,
		eachAddress(func(n *pcapoverip.ReceiverStats) float64 { return float64(n.Peers) })},
	{"input_peers_connected", "Peers that are connected.", gauge, networkLabel,
		eachAddress(func(n *pcapoverip.ReceiverStats) float64 { return float64(n.Connected) })},
	{"input_peers_dropped_total", "Peers that were refused, sent no capture, or broke off.", counter, networkLabel,
		eachAddress(func(n *pcapoverip.ReceiverStats) float64 { return float64(n.PeersDropped) })},
	{"input_full", "1 while no further peer can be taken.", gauge, networkLabel,
		eachAddress(func(n *pcapoverip.ReceiverStats) float64 { return web.Bool(n.Full != "") })},
	{"input_late_packets_total", "Packets that came after later ones of other inputs.", counter, networkLabel,
		web.Each(func(s *Status) []Network { return s.Networks }, func(n *Network) []string { return []string{n.Name} },
			func(n *Network) float64 { return float64(n.LatePackets) })},
	{"tls_certificate_expiry_timestamp_seconds", web.ExpiryHelp, gauge, []string{"file"},
		func(s *Status, give func(float64, ...string)) { web.GiveExpiry(s.TLS.Expiry, give) }},
	{"mirror_malformed_total", "Datagrams to a mirror target without a packet, by reason.", counter, []string{"input", "reason"},
		func(s *Status, give func(float64, ...string)) {
			for i := range s.Networks {
				n := &s.Networks[i]
				if n.Mirrored == nil {
					continue
				}
				for reason, count := range n.Malformed {
					give(float64(count), n.Name, reason)
				}
			}
		}},
	{"mirror_control_total", "Control datagrams of a tunnel to a mirror target.", counter, networkLabel,
		eachTarget(func(m *Mirrored) float64 { return float64(m.Control) })},
	{"mirror_unwanted_total", "Packets with identifiers that the target does not list.", counter, networkLabel,
		eachTarget(func(m *Mirrored) float64 { return float64(m.Unwanted) })},
	{"mirror_points", "Capture points (VNIs, sessions, senders) of a mirror target so far.", gauge, networkLabel,
		eachTarget(func(m *Mirrored) float64 { return float64(m.Points) })},
}

var filterMetrics = []metric{
	{"filter_info", "The filter of duplicates.", gauge, []string{"method", "identity", "window"},
		func(s *Status, give func(float64, ...string)) {
			give(1, s.Method, s.Identity, s.Window)
		}},
	{"filter_memory_bytes", "Memory of the filter.", gauge, nil,
		singleValue(func(s *Status) float64 { return float64(s.MemoryBytes) })},
	{"filter_fill_ratio", "Share of the filter's cells that are taken.", gauge, nil,
		singleValue(func(s *Status) float64 { return s.Fill })},
	{"filter_predicted_false_positive_ratio", "Predicted share of the packets that are wrongly taken for duplicates.", gauge, nil,
		singleValue(func(s *Status) float64 { return s.PredictedFPR })},
	{"filter_evicted_live_total", "Packets forgotten before their window ended: their duplicates may have been missed.", counter, nil,
		singleValue(func(s *Status) float64 { return float64(s.EvictedLive) })},
	{"filter_unverified_total", "Packets kept although the filter took them for duplicates: the table of --verify-copies did not have them.", counter, nil,
		optionalValue(func(s *Status) *uint64 { return s.Unverified })},
	{"filter_suggested_memory_bytes", "Memory with which nothing would have been forgotten too early; 0 where nothing was.", gauge, nil,
		singleValue(func(s *Status) float64 { return float64(s.SuggestedMemory) })},
	{"held_bytes", "Packets that wait for better copies of them, in bytes.", gauge, nil,
		whileHeld(func(h *hold.Stats) float64 { return float64(h.Bytes) })},
	{"held_early_total", "Packets that could not wait long enough for want of memory.", counter, nil,
		whileHeld(func(h *hold.Stats) float64 { return float64(h.Early) })},
	{"hub_up", "1 while the hub answers.", gauge, nil,
		func(s *Status, give func(float64, ...string)) {
			if s.HubDelay != nil {
				give(web.Bool(s.HubFailing == ""))
			}
		}},
	{"hub_duplicate_packets_total", "Duplicates that the hub found, among all duplicates.", counter, nil,
		optionalValue(func(s *Status) *uint64 { return s.HubCopies })},
	{"hub_unchecked_packets_total", "Packets that stayed because the hub did not answer in time.", counter, nil,
		optionalValue(func(s *Status) *uint64 { return s.Unchecked })},
	{"hub_delay_seconds", "Delay of the hub's answers, by percentile.", gauge, []string{"percentile"},
		func(s *Status, give func(float64, ...string)) {
			if s.HubDelay != nil {
				give(s.HubDelay.P50.Seconds(), "50")
				give(s.HubDelay.P99.Seconds(), "99")
			}
		}},
}

// whileHeld gives a value if packets wait for better copies.
func whileHeld(of func(h *hold.Stats) float64) web.Values[*Status] {
	return web.Part(func(s *Status) *hold.Stats { return s.Held }, of)
}

// eachDistinct gives a value per count, or per count that slides.
func eachDistinct(sliding bool, of func(d *Distinct) float64) web.Values[*Status] {
	return func(s *Status, give func(float64, ...string)) {
		for i := range s.Distinct {
			d := &s.Distinct[i]
			if !sliding || d.Span > 0 {
				give(of(d), d.Of, d.Family)
			}
		}
	}
}

var distinctLabels = []string{"of", "family"}

var distinctMetrics = []metric{
	{"distinct", "Distinct keys in the window that is open, and in the span before now.", gauge, []string{"of", "family", "kind"},
		func(s *Status, give func(float64, ...string)) {
			for i := range s.Distinct {
				d := &s.Distinct[i]
				give(float64(d.Window), d.Of, d.Family, "window")
				if d.Span > 0 {
					give(float64(d.Sliding), d.Of, d.Family, "sliding")
				}
			}
		}},
	{"distinct_window_start_timestamp_seconds", "When the open window began, in seconds since the epoch; 0 without windows.", gauge, distinctLabels,
		eachDistinct(false, func(d *Distinct) float64 { return web.UnixSeconds(d.WindowStart) })},
	{"distinct_sliding_span_seconds", "Length of the span of sliding counts.", gauge, distinctLabels,
		eachDistinct(true, func(d *Distinct) float64 { return d.Span.Seconds() })},
	{"distinct_sliding_low", "Lower bound of the sliding count; the bounds hold it with 95 % confidence.", gauge, distinctLabels,
		eachDistinct(true, func(d *Distinct) float64 { return float64(d.Low) })},
	{"distinct_sliding_high", "Upper bound of the sliding count.", gauge, distinctLabels,
		eachDistinct(true, func(d *Distinct) float64 { return float64(d.High) })},
}

// eachOutput gives a value per output.
func eachOutput(of func(o *sink.Output) float64) web.Values[*Status] {
	return web.Each(func(s *Status) []sink.Output { return s.Outputs }, func(o *sink.Output) []string { return []string{o.Name} }, of)
}

// eachForward gives a value per interface that packets are sent to.
func eachForward(of func(f *sink.Forward) float64) web.Values[*Status] {
	return web.Each(func(s *Status) []sink.Forward { return s.Forwards }, func(f *sink.Forward) []string { return []string{f.Interface} }, of)
}

// state gives a value of the state file; nothing without --state.
func state(of func(f *State) float64) web.Values[*Status] {
	return web.Part(func(s *Status) *State { return s.State }, of)
}

var (
	outputLabel  = []string{"output"}
	forwardLabel = []string{"interface"}
)

var outputMetrics = []metric{
	{"output_packets_total", "Packets written to an output.", counter, outputLabel,
		eachOutput(func(o *sink.Output) float64 { return float64(o.Packets) })},
	{"output_bytes_total", "Bytes written to an output.", counter, outputLabel,
		eachOutput(func(o *sink.Output) float64 { return float64(o.Bytes) })},
	{"output_files_total", "Complete files of an output that rotates.", counter, outputLabel,
		eachOutput(func(o *sink.Output) float64 { return float64(o.Files) })},
	{"output_lost_packets_total", "Packets for an output that were lost.", counter, outputLabel,
		eachOutput(func(o *sink.Output) float64 { return float64(o.Lost) })},
	{"output_failed", "1 if the output has failed.", gauge, outputLabel,
		eachOutput(func(o *sink.Output) float64 { return web.Bool(o.Failed != "") })},
	{"forward_sent_total", "Packets forwarded.", counter, forwardLabel,
		eachForward(func(f *sink.Forward) float64 { return float64(f.Sent) })},
	{"forward_sent_bytes_total", "Bytes of the packets forwarded.", counter, forwardLabel,
		eachForward(func(f *sink.Forward) float64 { return float64(f.Bytes) })},
	{"forward_not_sent_total", "Packets that were not forwarded: truncated, too long for the interface, without Ethernet, refused by its queue, or lost while it was away.", counter, []string{"interface", "reason"},
		func(s *Status, give func(float64, ...string)) {
			for i := range s.Forwards {
				f := &s.Forwards[i]
				give(float64(f.Truncated), f.Interface, "truncated")
				give(float64(f.TooLong), f.Interface, "too_long")
				give(float64(f.Refused), f.Interface, "refused")
				if f.NotEthernet > 0 {
					give(float64(f.NotEthernet), f.Interface, "not_ethernet")
				}
				give(float64(f.Lost), f.Interface, "lost")
			}
		}},
	{"forward_retries_total", "How often packets had to wait for the queue to drain.", counter, forwardLabel,
		eachForward(func(f *sink.Forward) float64 { return float64(f.Retries) })},
	{"forward_failed", "1 if nothing can be forwarded now.", gauge, forwardLabel,
		eachForward(func(f *sink.Forward) float64 { return web.Bool(f.Failed != "") })},
	{"state_saved_timestamp_seconds", "When the state was saved the last time, in seconds since the epoch; 0 before.", gauge, nil,
		state(func(f *State) float64 { return web.UnixSeconds(f.Saved) })},
	{"state_bytes", "Size of the state that was saved.", gauge, nil,
		state(func(f *State) float64 { return float64(f.Bytes) })},
	{"state_failed", "1 if the state could not be saved the last time.", gauge, nil,
		state(func(f *State) float64 { return web.Bool(f.Failed != "") })},
}
