// Package capture reads and writes packet captures in batches.
//
// A [Source] fills a [Batch] with whole records: one large read goes straight
// into Batch.Buf, and Frames and Blocks say what lies where in it. No packet
// is copied on its own and nothing is allocated per packet. [Open] reads pcap
// and pcapng files, pipes and standard input, plain or compressed with gzip,
// zstd or lz4, whatever their names are; [NewReader] does the same for any
// io.Reader. [Merge] and [Concat] make one Source of several, the former in
// the order of the packets' times.
//
// Packages below take it from there: pipeline takes the batches of a source through
// workers, flow finds headers and identities in them, dedup finds copies, and outfile
// has files that appear whole or not at all. The example of dedup is a whole program.
//
// Formats are those of draft-ietf-opsawg-pcap and draft-ietf-opsawg-pcapng,
// with the older variants that libpcap reads.
//
// A pcap file has no mark that tells records from what was never written: two records
// in a row without time, length and captured bytes are damage, as is one that zeros
// follow to the end.
//
// Inputs are not trusted. No length field sizes an allocation before the bytes
// it speaks of have arrived, every length has a ceiling, and damage ends an
// input with an [InputError] only after all that was sound before it has been
// delivered.
package capture
