// SPDX-License-Identifier: Apache-2.0

// Package dedup finds copies of packets. It puts together identities (capture/identity),
// digests (asm/digest) and a filter (engine/window). It is the only package below capture
// that knows filters.
//
//	source ─► identity ─► verdict ─► sink
//
// A [Detector] judges the packets of one stream, and counts them: see [Detector.Stats].
// [Detector.Copies] returns the verdicts of a batch. [Detector.Tasks] makes the tasks of a
// pipeline that removes copies: workers share the work, and a writer gets the packets that
// stay. The package example removes the duplicates of a file. A [BatchDetector] is for
// pipelines with other work on a batch. An [Observer] gets the decisions of a Detector.
//
// [Config] says within which groups copies are found, which packets are never removed, and
// which of equal packets stays: by default the first. Analyzers that distinguish conversations
// by VLAN or interface then see a conversation from several points. With Config.Hold.Flow, as
// the command does where it writes packets, all packets of a conversation are written as one
// point saw them, as far as it saw them. Hold.Intact prefers packets that were captured
// whole and have the right checksum. Config.Prefer is an order of the caller's own.
//
// A packet for which better copies may come waits for Hold.For, and all packets behind it wait
// with it: see package capture/hold. Packets wait by the times of packets: where a live stream
// pauses, they wait for the next ones, unless Hold has a clock.
//
// Verdicts have no errors. Errors of New wrap [ErrConfig] where no Detector can have the
// configuration, or come from the filter and from the random generator.
//
//	question                                     file
//	configuration, and its defaults              config.go
//	a Detector, and what it is made of           detector.go
//	from frames to digests; verdicts of a batch  batch.go
//	which copies are removed (Only, Protect)     choose.go
//	truncated packets                            doubts.go
//	packets that are no originals of right ones  unfit.go, pairs.go
//	verdicts of a hub                            hub.go
//	counts                                       tally.go if verdicts do not matter, else stats.go
//	tasks of a pipeline; observers               tasks.go; observe.go
package dedup
