// SPDX-License-Identifier: Apache-2.0

// Package headers walks over the headers of captured frames and locates link headers, tags,
// tunnels and IP. It is the only package that knows their layouts. It compares, digests and
// remembers nothing.
//
//   - A [Decoder] finds the IP header of each frame and describes it in a [Header]. It reads
//     through VLAN tags, MPLS labels, PPPoE and the like, and on request through tunnels.
//   - [NonIPParts] locates addresses, ethertype and payload of a frame without IP.
//   - [Decoder.Layers] lists the headers of a frame; [Decoder.Unopened] names the header at
//     which a walk without success ended.
//   - A [Decapsulator] and [ReadTZSP] read the header of a tunnel.
//   - [PathOf] reads the path through a redundant network, and [CaptureHeader] the length of a
//     header that the capture put before the frame.
//
// Offsets are in bytes from the first captured byte of the frame unless a comment names their
// start. For the kernels of asm/headers, [LinkRun] cuts a batch into runs of one link
// type, [PlaceIP] makes frames of other link types look like Ethernet, [BehindLabels] steps over
// labels and PPPoE, [Deeper] opens tunnels, and [Decoder.SlowProtocols] names the IP protocols that
// need [Decoder.DecodeSlow].
//
// No function trusts a frame: each takes time linear in the length of the frame and reads captured
// bytes only.
//
//	question                                    file
//	frames of common shapes                     decoder.go, common.go
//	a walk through any frame                    walk.go
//	link headers                                link.go, ether.go, link_device.go, wireless.go, wrapper.go
//	tags, labels and PPPoE                      ether_tags.go, labels.go
//	protocols by ethertype                      ethertypes.go
//	a tunnel: its port or protocol; its header  tunnel.go; tunnel_udp.go, tunnel_ip.go
//	its kind and identifier; its name           layers.go; tunnel_sample.go
//	tunnels opened without a walk               deeper.go, deeper_tunnel.go
//	tunnels that a socket receives              decapsulate.go
//	IP and its extension headers                ip.go
//	frames without IP                           nonip.go
//	headers that all programs read alike        plain.go
package headers
