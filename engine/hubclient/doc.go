// SPDX-License-Identifier: Apache-2.0

// Package hubclient is a sensor's side of a filter that several sites share. A hub holds the
// filter, cut into slices, and answers which packets another site has sent before.
//
// Request and Reply are the messages, Subject is their address, and Token is the one line
// by which a site joins. A Report is a site's report to the hub about itself. Everything
// is little-endian. The other side is the module engine/cluster.
//
// The hub decides for a packet once: by the slice of its digest, which has one owner, in
// the order in which batches reach it. So if several sites send a packet, one of them
// gets the answer "new". A packet without an answer is passed on: a failing hub loses no
// packet.
//
//	question                                  file
//	a packet and its answer                   client.go
//	what goes to a slice; silent slices       slice.go
//	what comes from the hub                   client_receive.go
//	one message for many slices               bundle.go
//	the hubs above a hub                      way.go
//	timers, probes, reports                   work.go
//	messages and their address                request.go, reply.go, subject.go
//	counts and reports for the hub            counts.go
//	the token of a site                       token.go
//
// A site asks through a Client. The Client relies on these properties of a hub:
//
//   - One request is one step: the slice tests and sets each digest in turn. Only packets of
//     another site are copies, within the window by the times in the requests.
//   - The reply goes to the subject that the request names, with the Seq of the request.
//     A request whose Seq and body a slice has just answered gets the same reply again. A
//     Seq is not sufficient: a site that begins again may use one twice.
//   - A bundle comes to all hubs. Each takes the parts for its slices as requests of their own,
//     and none for others. A part without an answer, as of a hub that knows no bundles, is sent
//     again as a request.
//   - A Ping has one digest, Token.KeyCheck. It is answered with OK, with WrongEpoch, or
//     with Bad if the digest differs from the digest that the hub's key gives. The answer
//     has no Copies: N is 0.
//   - Reports come unsolicited, and get no reply.
package hubclient
