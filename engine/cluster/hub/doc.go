// SPDX-License-Identifier: Apache-2.0

// Package hub runs slices of the filter that sites share, behind NATS: a server of its own
// within the process, or one that is there. A site's requests arrive by package hubclient.
//
// A hub may be below another one, which it asks about what is new to it: the Bloom trees of "One
// is Enough" (KNPS), with slices in any of their nodes.
//
// A Folder holds what a hub knows from one start to the next: its settings, the keys of its
// sites, and the slices as they were saved. A Hub answers for slices, a Status describes
// all hubs and sites of a filter.
package hub
