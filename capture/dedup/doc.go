// SPDX-License-Identifier: Apache-2.0

// Package dedup finds copies of packets. It puts together identities (capture/flow),
// digests (asm/digest) and a filter (engine/window). It is the only package below capture
// that knows filters.
//
//	source ─► identity ─► verdict ─► sink
//
// A [Detector] judges the packets of one stream. [New] makes one with the defaults of the
// command, [NewWith] of any parts. [Detector.Copies] returns the verdicts of a batch.
// [Detector.Tasks] makes the tasks of a pipeline that removes copies: workers share the
// work, and a writer gets the packets that stay. The package example removes the
// duplicates of a file. A [BatchDetector] is for pipelines with other work on a batch.
//
// The first of equal packets is the one that stays, unless [Config] says otherwise. For
// analyzers that tell conversations apart by VLAN or interface too, that mixes the points of
// a conversation. With [KeepFlow], the default of the command where it writes packets, all
// packets of a conversation are written as one point saw them, as far as it saw them. With
// Config.Intact a whole packet with the right checksum stays where an equal one has not. A
// [Hold] does both: it keeps packets back for which better copies may come, and those behind
// them. It goes by the times of packets, so those of a live stream that pauses wait for the
// next ones, unless [HoldConfig] has a clock. The tasks of a Detector have a Hold. Pipelines
// of other tasks use [Hold.NewBatch], and call
// [Hold.Finish] when no batch is left, as a pipeline.Finisher does.
//
// [Config] also says within which groups copies are found, which packets are left alone,
// and which of equal packets stays.
//
// Verdicts have no errors. New returns those of window.NewTimed and of the random
// generator.
package dedup
