// SPDX-License-Identifier: Apache-2.0

// Package hold decides which of equal packets stays. A filter finds the first of equal packets to
// be new, and the others to be copies of it. A [Hold] keeps batches back, and exchanges the first
// for a better copy that comes soon. So the number of packets that stay does not change, nor do their
// places in the stream.
//
// It knows neither filters nor identities: it takes [Verdicts]. Package capture/dedup makes a Hold
// where its Config asks for better copies. ExampleConfig_hold there shows the result:
//
//	detector, err := dedup.New(dedup.Config{Hold: hold.Config{Flow: true}})
//
// A [Batch] takes the batches of a stream through a Hold: Prepare reads where packets were seen,
// Judge takes the verdicts, Write passes on what no longer waits, and Finish the rest.
//
//	question                                 file
//	configuration, counts                    hold.go
//	a batch's verdicts; who is at home       batch.go
//	which packet is better                   choose.go
//	packets that may be exchanged            candidates.go
//	the home of a conversation               homes.go
//	for how long packets wait                parts.go, clock.go
//	batches that wait, and their comments    waiting.go
package hold
