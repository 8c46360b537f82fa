// Package dedup tells copies of packets from other packets. It is where packets meet
// filters: identities (capture/flow), digests (asm) and a filter (engine), put together.
//
//	source ─► identity ─► verdict ─► sink
//
// A [Detector] judges the packets of one stream. [Detector.Copies] does so batch by
// batch. [Detector.Tasks] are the same for a pipeline, in which workers share the work
// and a writer gets the packets that stay; the example of that is a whole program.
package dedup
