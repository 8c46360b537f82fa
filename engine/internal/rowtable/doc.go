// Package rowtable has tables of rows that are doubled or thinned without a pause, sets for the
// few elements that find their row full, and estimates by what is sampled.
package rowtable
