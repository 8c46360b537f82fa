// Package stamp says which packet times may be relied on.
package stamp
