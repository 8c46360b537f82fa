// SPDX-License-Identifier: Apache-2.0

// Package dedup finds copies of packets. It puts together identities (capture/identity),
// digests (asm/digest) and a filter (engine/window). It is the only package below capture
// that knows filters.
//
//	source ─► identity ─► verdict ─► sink
//
// A [Detector] judges the packets of one stream, and counts them: see [Detector.Stats].
// [New] makes one with the defaults of the command, [NewWith] of any parts.
// [Detector.Copies] returns the verdicts of a batch. [Detector.Tasks] makes the tasks of a
// pipeline that removes copies: workers share the work, and a writer gets the packets that
// stay. The package example removes the duplicates of a file. A [BatchDetector] is for
// pipelines with other work on a batch. An [Observer] gets the decisions of a Detector.
//
// [Config] says within which groups copies are found, which packets are never removed, and
// which of equal packets stays: by default the first. Analyzers that distinguish conversations
// by VLAN or interface then see a conversation from several points. With [KeepFlow], the
// default of the command where it writes packets, all packets of a conversation are written as
// one point saw them, as far as it saw them. Config.Intact prefers packets that were captured
// whole and have the right checksum. Config.Prefer is an order of the caller's own.
//
// The filter finds the first of equal packets to be new, and the others to be copies of it. A
// packet for which better copies may come waits for Config.Hold, and all packets behind it wait
// with it. A better copy that comes meanwhile takes its place. So the number of packets that
// stay does not change, nor do their places in the stream. Packets wait by the times of
// packets: where a live stream pauses, they wait for the next ones, unless [HoldConfig] has a
// clock.
//
// Verdicts have no errors. Errors of New and NewWith wrap [ErrConfig] where no Detector can have
// the configuration, or come from the filter and from the random generator.
//
//	question                                     file
//	configurations, and what they need           detector.go
//	from frames to digests; verdicts of a batch  batch.go
//	which copies are removed (Only, Protect)     choose.go
//	truncated packets                            doubts.go
//	packets that are no originals of right ones  unfit.go, pairs.go
//	which of equal packets stays                 hold.go, hold_choose.go, hold_quality.go
//	packets that wait, and their places          hold_batches.go, hold_candidates.go, hold_settle.go
//	the point of a conversation (KeepFlow)       homes.go, homes_lone.go, hold_homes.go
//	verdicts of a hub                            hub.go
//	counts                                       tally.go if verdicts do not matter, else stats.go
//	tasks of a pipeline; observers               tasks.go; observe.go
package dedup
