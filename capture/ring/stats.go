package ring

// Stats counts what happened at one ring since the capture began. The kernel
// counts Received, Dropped and Freezes; what is read of them is up to date, the
// rest as of the last Next.
type Stats struct {
	Interface string // the name it was opened under
	Ring      int    // from 0, among those of the interface

	Received uint64 // packets that passed the filter, the dropped ones among them
	Dropped  uint64 // packets lost since the ring was full
	Freezes  uint64 // how often the ring became full

	Delivered         uint64 // packets that Next returned
	Truncated         uint64 // of them, longer than SnapLen or a ring block has room for
	Coalesced         uint64 // of them, several TCP segments in one (GRO, GSO; newer kernels say)
	ChecksumOffloaded uint64 // of them, with checksums that the host has left to be filled in
	Tagged            uint64 // of them, with a VLAN tag that was put back
	Hardware          uint64 // of them, with the time of the network card
	Outages           uint64 // how often the interface went down or away, where Config.Wait survived it
	Down              bool   // it is down or away now
}

// SenderStats counts what happened at a Sender.
type SenderStats struct {
	Sent  uint64 `json:"sent"`  // frames that the kernel took
	Bytes uint64 `json:"bytes"` // of them
	// Frames that were not sent: captured in part, longer than the interface can
	// carry, refused again and again by a full or dead queue, and lost while the
	// interface was down or away.
	Truncated uint64 `json:"cut"`
	TooLong   uint64 `json:"too_long"`
	Refused   uint64 `json:"refused"`
	Lost      uint64 `json:"lost"`
	// Retries is how often frames had to wait for the queue to drain.
	Retries uint64 `json:"retries"`
}
