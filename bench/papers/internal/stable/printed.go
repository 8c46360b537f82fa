package stable

import "math"

// elementBits is what an element of a buffer is accounted for in Table 2.
const elementBits = 64

// dataset is a part of Table 2: a stream and the rates printed for it.
type dataset struct {
	name     string
	elements int
	distinct float64 // share
	rows     []printedRow
}

// printedRow holds the rates of one memory size in percent.
type printedRow struct {
	bits                              int64 // more than an int holds on 32-bit machines
	fpBufferFNR, stableFNR, stableFPR float64
	bufferFNR, bloomFPR               float64
}

// datasets returns Table 2. Memories printed as 6.71e+7, 1.07e+9 and 4.29e+9 bits
// are powers of two.
func datasets() []dataset {
	return []dataset{
		{"100K, 76 %", 100_000, 0.7566, []printedRow{
			{1 << 14, 46, 35, 8.4, 50, 83.8},
			{1 << 16, 35, 23, 6.7, 37, 43.4},
			{1 << 18, 24, 11, 3.0, 25, 7.2},
			{1 << 20, 9, 4, 0.4, 9, 0.6},
			{1 << 22, 0.1, 1, 0.1, 0.1, 0.1},
		}},
		{"10M, 49 %", 10_000_000, 0.4851, []printedRow{
			{1 << 14, 60, 54, 8.1, 65.7, 99.7},
			{1 << 18, 48, 40, 6.6, 51.5, 95.9},
			{1 << 22, 30, 23, 4.5, 31.7, 43.5},
			{1 << 26, 11, 5, 0.5, 11.0, 0.7},
			{1 << 30, 0, 0.4, 0.1, 0, 0.1},
		}},
		{"695M, 15 %", 694_984_445, 0.1475, []printedRow{
			{1 << 14, 71, 68, 8.2, 78, 99.99},
			{1 << 18, 65, 60, 7.0, 70, 99.81},
			{1 << 22, 55, 50, 5.7, 58, 96.93},
			{1 << 26, 43, 36, 3.5, 45, 54.08},
			{1 << 30, 17, 13, 1.6, 17, 2.56},
			{1 << 32, 2, 5, 1.6, 2, 1.87},
		}},
	}
}

// crawl returns the stream to draw: the stack distances are those of the buffering
// column, and none is above the number of distinct elements.
func (d dataset) crawl() crawl {
	c := crawl{elements: d.elements, distinct: d.distinct}
	longest := math.Log2(float64(d.elements) * d.distinct)
	for _, row := range d.rows {
		if exponent := math.Log2(float64(row.bits / elementBits)); exponent < longest {
			c.points = append(c.points, distancePoint{exponent, 1 - row.bufferFNR/100})
		}
	}
	c.points = append(c.points, distancePoint{longest, 1})
	return c
}
