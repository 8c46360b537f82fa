// Package pcapfile reads and writes packet captures in batches.
//
// # Reading
//
// [Open] reads pcap and pcapng files, pipes and standard input, plain or compressed
// with gzip, zstd or lz4, up to two compressions over each other. It recognises formats
// by their first bytes, whatever the names are. [NewReader] does the same for any
// io.Reader. [Merge] and [Concat] make one Source of several, the former in the order of
// the packets' times; [Park] closes files until their turn has come.
//
// Formats are those of draft-ietf-opsawg-pcap and draft-ietf-opsawg-pcapng, with the
// older variants that libpcap reads: both byte orders, microseconds and nanoseconds, the
// modified format with 24-byte records, swapped lengths of versions before 2.4, obsolete
// and simple packet blocks, any if_tsresol and if_tsoffset.
//
// One large read goes straight into Batch.Buf, and Frames and Blocks say what lies where
// in it. Each byte is looked at once: reading takes time in proportion to the bytes and
// packets, and memory for one chunk (512 KiB unless Options say otherwise) and the frames
// that describe it, or for the longest record where that is more.
//
// # Limits
//
// Inputs are not trusted. No length field sizes an allocation before the bytes
// it speaks of have arrived, and every length has a ceiling: 256 KiB for a captured
// packet (128 MiB on buses and message transports), 128 MiB and its options for a block,
// 64 MiB for all descriptions of sections and interfaces, 128 MiB for a window of zstd.
//
// A pcap file has no mark that tells records from what was never written: two records
// in a row without time, length and captured bytes are damage, as is one that zeros
// follow to the end.
//
// # Errors
//
// Damage ends an input with a [capture.InputError], and a failed read with a
// [capture.ReadError], only after all that was sound before it has been delivered.
// Reasons are tested with errors.Is: [capture.ErrEmpty], [capture.ErrUnknownFormat],
// [capture.ErrTruncated], [capture.ErrDamaged], [capture.ErrNotSupported]. Damage that
// reading survives is told to Options.Warn.
//
// # Writing
//
// [NewWriter] writes what a bitmap leaves of the batches of a Source. Where the format
// of the input can stay, records are copied byte for byte; else they are converted.
// [NewSplitter] does the same for several files, each of which can be read without the
// others; package rotate builds on it.
package pcapfile
