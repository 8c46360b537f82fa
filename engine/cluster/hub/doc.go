// SPDX-License-Identifier: Apache-2.0

// Package hub runs slices of the filter that sites share, behind NATS: an embedded
// server, or an existing one. A site's requests arrive by package hubclient.
//
// A hub may be below another one, which it asks about elements that are new to it: the
// Bloom trees of "One is Enough" (KNPS), with slices in any of their nodes.
//
// A Folder holds a hub's persistent state: its settings, the keys of its sites, and the
// saved slices. A Hub answers for slices, a Status describes all hubs and sites of a
// filter.
package hub
