package layout

// RowShape says how a line of 512 bits is made of fingerprint rows, and a row of cells. A
// row is searched as a whole, and evicts from itself alone. A cell holds a fingerprint,
// or 0 if it is empty. Cells are counted from the lowest bit of a row's first word up; cell
// 0 is the front.
type RowShape uint8

const (
	// Rows8x8 has 8 rows in a line, each a word of 8 cells of 8 bits.
	Rows8x8 RowShape = iota
	// Rows4x16 has 8 rows in a line, each a word of 4 cells of 16 bits.
	Rows4x16
	// Lines32x16 has one row in a line: 32 cells of 16 bits.
	Lines32x16
	// Lines16x32 has one row in a line: 16 cells of 32 bits.
	Lines16x32
	// Lines8x64 has one row in a line: 8 cells of 64 bits.
	Lines8x64
	// RowShapes is how many shapes there are.
	RowShapes
)

// rowCellBits and rowWords are the shapes' bits a cell and words a row.
var (
	rowCellBits = [RowShapes]uint8{8, 16, 16, 32, 64}
	rowWords    = [RowShapes]uint8{1, 1, 8, 8, 8}
)

// CellBits returns how many bits a cell has, w in what follows. It panics
// if s is none of the constants.
func (s RowShape) CellBits() int { return int(rowCellBits[s]) }

// Cells returns how many cells a row has. It panics if s is none of the constants.
func (s RowShape) Cells() int { return int(rowWords[s]) * 64 / int(rowCellBits[s]) }

// RowsPerLine returns how many rows a line has, 8 or 1. It panics if s is none
// of the constants.
func (s RowShape) RowsPerLine() int { return 8 / int(rowWords[s]) }

// InWords tells whether rows are words, and not lines. It panics if s is none of the
// constants.
func (s RowShape) InWords() bool { return rowWords[s] == 1 }
