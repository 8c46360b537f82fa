// Package distinct counts the distinct elements since a start, and tells first sightings from
// repeats: IPv4 addresses in IPv4Rows, everything else in DigestRows, or in a ScalableBloom where
// memory matters more than errors.
package distinct
