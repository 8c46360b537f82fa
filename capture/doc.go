// SPDX-License-Identifier: Apache-2.0

// Package capture defines packets in batches, and the contracts between packages that read them
// and packages that write them.
//
//   - A [Batch] is a run of packets, with everything else of their stream that a copy of
//     it must hold. No packet is copied or allocated by itself.
//   - A [Source] fills batches. Package pcapfile reads files and pipes, and merges them.
//     Package afpacket captures from interfaces. Package gopackets reads handles of gopacket.
//     Several goroutines can read a [Preloader] at once, a [LiveSource] knows whether packets
//     wait, and the batches of a [Lender] lie in memory that it needs back.
//   - A [Writer] takes batches, and a bitmap of the frames to leave out. Package pcapfile
//     writes a file, package rotate a series of files.
//   - An [InputError] says where an input is damaged, a [ReadError] where reading failed.
//
// A batch holds packets as pcap records or pcapng blocks. A program with packets of its
// own fills batches with [Batch.AppendInterface] and [Batch.Append].
// [AppendSectionHeader], [AppendInterface] and [AppendStatistics] encode pcapng blocks
// without packets, for a Source that makes batches itself.
//
// The other packages build on these contracts: pipeline shares the batches of a source
// among workers, headers finds headers, identity the bytes that are compared, dedup finds
// copies, hold chooses which of equal packets stays, strip takes headers off, and outfile makes files that appear whole or not at
// all. The example of dedup is a whole program.
//
// The package does no input or output, and starts no goroutines.
//
//	question                               file
//	batches, their frames and blocks       batch.go
//	interfaces and sections; link types    section.go; linktype.go
//	sources and writers                    source.go
//	bitmaps of frames to leave out         drop.go
//	errors of inputs                       errors.go
package capture
