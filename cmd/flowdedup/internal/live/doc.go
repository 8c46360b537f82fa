// Package live de-duplicates and counts what interfaces see, while it is seen.
//
// A run is one stream of all interfaces. The task for each batch decodes every packet
// once and digests what identities and keys need; then batches are judged and counted,
// and then written, one after another (see pipeline.Task). So copies meet in one filter
// whichever ring they came from. What depends on the clock is done between two batches:
// windows end, rows of the past hour, the state and the status are told.
package live
