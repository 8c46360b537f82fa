// SPDX-License-Identifier: Apache-2.0

// Package doc holds the manual, and tests that its links and file names lead somewhere.
package doc
