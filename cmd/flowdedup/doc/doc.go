// Package doc holds the manual, and tests that its links and file names lead somewhere.
package doc
