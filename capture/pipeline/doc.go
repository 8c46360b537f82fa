// Package pipeline takes the packets of a source through workers, in order.
//
// A [Pipeline] gives each worker a batch. What batches have no part in of each other
// (reading a regular file, finding headers, digests) happens side by side. What depends
// on the order of packets (verdicts, counts, writing) happens for one batch after
// another, as if there were one worker. So what comes out does not depend on the number
// of workers.
//
//	source ─► read ─► Prepare ─► Apply ─► Write
//	          side by side      in order  in order
//
// Package capture/dedup has tasks that remove copies.
package pipeline
