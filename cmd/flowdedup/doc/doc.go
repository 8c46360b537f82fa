// Package doc holds the manual, and the test that its links lead somewhere.
package doc
