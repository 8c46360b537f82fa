// Package live de-duplicates and counts what interfaces see, while it is seen.
package live
