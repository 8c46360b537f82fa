// Package capture says what packets are to all other packages: the contracts between
// where packets come from and where they go.
//
//   - A [Batch] is a run of packets, with everything else of their stream that must not
//     get lost. No packet is copied on its own, and nothing is allocated per packet.
//   - A [Source] fills batches: package pcapfile reads files and pipes, and merges
//     several; package ring captures from interfaces. A [Preloader] is a Source that
//     several goroutines can read at once.
//   - A [Writer] takes batches, and a bitmap of the frames that are to be left out:
//     package pcapfile writes one file, package rotate one after another.
//   - An [InputError] or a [ReadError] says where an input ended before its end.
//
// Batches hold their packets as pcap records or pcapng blocks. A Source that does not
// read such a file makes them: [AppendSectionHeader], [AppendInterface] and
// [AppendStatistics] write what is no packet.
//
// The package neither reads nor writes, and has no goroutines.
package capture
