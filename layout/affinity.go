package layout

// A line of affinity rows is one row of four cells of two words. A cell holds the capture
// point that the packets of a conversation are taken from.
//
//	word       0         1         2         3         4         5         6         7
//	       ┌───────────────────┬───────────────────┬───────────────────┬───────────────────┐
//	       │ cell 0            │ cell 1            │ cell 2            │ cell 3            │
//	       └───────────────────┴───────────────────┴───────────────────┴───────────────────┘
//
//	        63                             32 31                              0
//	       ┌─────────────────────────────────┬─────────────────────────────────┐
//	even   │ tag of the conversation: 32     │ its home point: 32              │
//	       ├───┬───────────┬─────────────────┴─────────────────────────────────┤
//	odd    │ 1 │ misses: 5 │ time without its low 6 bits: 58                   │
//	       └───┴───────────┴───────────────────────────────────────────────────┘
//	        63  62       58 57                                                0
//
// Misses are packets in a row that had to be taken from elsewhere. The time, in
// nanoseconds since 1970, is that of the last sighting at home, or that of the first miss.
// An empty cell is 0. With 2^L lines, the low L bits of a conversation's hash are the
// number of the line, and its top 32 bits are the tag. A line remembers four
// conversations.
const (
	// AffinityCells is the number of cells of an affinity row.
	AffinityCells = 4
	// AffinityPresent is the bit of an odd word that says that the cell is in use.
	AffinityPresent = 1 << 63
	// AffinityMissShift is where the misses are in an odd word.
	AffinityMissShift = 58
	// AffinityMisses is the largest number of misses.
	AffinityMisses = 1<<5 - 1
	// AffinityTimeShift is how many low bits of a time are left out.
	AffinityTimeShift = 64 - AffinityMissShift
)
