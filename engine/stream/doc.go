// Package stream tells which elements of an endless stream came before, in constant memory:
// rows of fingerprints, stable Bloom filters, and other methods of the literature in lines of
// 64 bytes.
package stream
