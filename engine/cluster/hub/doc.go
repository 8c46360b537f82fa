// SPDX-License-Identifier: Apache-2.0

// Package hub runs slices of the filter that sites share, behind NATS: an embedded
// server, or an existing server. A site's requests arrive by package hubclient.
//
// A hub may be below another hub, which it asks about elements that are new to it: the
// Bloom trees of "One is Enough" (KNPS), with slices in any of their nodes.
//
// A Folder holds a hub's persistent state: its settings, the keys of its sites, and the
// saved slices. A Hub answers for slices, a Status describes all hubs and sites of a
// filter.
//
//	question                                     file
//	start and end of a hub; its folder and keys  hub.go; folder.go, invite.go, users.go
//	the embedded server; who may connect         server.go, serverlog.go; auth.go
//	which hub owns which slice                   layout.go, balance.go, alive.go
//	a request for a slice; for many; refused     owner.go, lag.go; bundle.go; bad.go
//	requests that survive a crash                journal.go, entry.go
//	links of chains                              links.go, chains.go
//	the hub above; the hubs below                parent.go, climb.go; below.go
//	connections and addresses of sites           site_conns.go, address.go
//	reports of sites                             reports.go
//	distinct counts                              counts.go
//	the status that commands print               status.go, treestatus.go, rates.go
//	requests of administrators                   control.go
package hub
