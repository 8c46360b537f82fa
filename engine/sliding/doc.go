// Package sliding counts the distinct elements of the last hour, or another span, at every
// instant.
package sliding
