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
// Verdicts have no errors. New returns those of window.NewTimed and of the random
// generator.
package dedup
