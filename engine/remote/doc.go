// Package remote is a sensor's side of a filter that several sites share. A hub holds the
// filter, cut into slices, and answers which packets another site has sent before.
//
// Request and Reply are the messages, Subject says where they go, and Token is the one line
// by which a site joins. A Report is what a site tells the hub of itself. Everything is
// little-endian. The other side is the module engine/cluster.
//
// The hub decides for a packet once: by the slice of its digest, which has one owner, in
// the order in which batches reach it. So of packets that several sites send, one gets the
// answer "new". A packet whose answer does not come is passed on: no packet is lost by a
// hub that fails.
package remote
