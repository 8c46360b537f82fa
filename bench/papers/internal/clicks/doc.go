// Package clicks makes the figures of paper "Duplicate Detection in Click Streams"
// (Metwally, Agrawal, El Abbadi, WWW 2005).
//
// Figures 6 and 7 are on synthetic clicks that are all distinct, and are made at their
// printed sizes. Figures 8 and 9 are on clicks of a company, which are not public.
// The paper prints no table; of its figures only ratios and sizes are in the text.
package clicks
