// SPDX-License-Identifier: Apache-2.0

// Package affinity remembers where conversations and flows belong: a [Table] has the capture
// point that the packets of a conversation are taken from, and [Owners] the point that
// reported a flow.
package affinity
