// SPDX-License-Identifier: Apache-2.0

// Package verdict puts what an inspection found into one sentence, for inspect and for what
// live learns.
package verdict
