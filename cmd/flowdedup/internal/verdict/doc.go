// SPDX-License-Identifier: Apache-2.0

// Package verdict puts the findings of an inspection into one sentence, for inspect and for
// live --learn.
package verdict
