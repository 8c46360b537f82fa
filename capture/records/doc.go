// SPDX-License-Identifier: Apache-2.0

// Package records describes flow records: reports of routers, firewalls and probes on flows
// (NetFlow, IPFIX, sFlow, or lines of text).
//
// A [Reader] reads batches of records, a judge of package records/match says which of
// them are copies, that is, which report a flow that another [Point] reported before.
package records
