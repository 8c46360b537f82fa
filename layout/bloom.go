package layout

// A line of a blocked Bloom filter is 512 bits. An element owns one bit of each of the eight
// words in each round (a split block Bloom filter as Apache Parquet has it, with wider
// lines).

// MaxBloomRounds is the most rounds that an element has.
const MaxBloomRounds = 8
