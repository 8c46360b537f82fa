// Package headers has the kernels that know Ethernet and IP, for frames with nothing rare about
// them. Everything else about headers is in capture/flow.
//
//	question                                 function         contract      plain twin
//	where is the IP datagram in a frame      FindDatagrams   datagram.go   datagram.go
//	addresses and ports of many datagrams    Tuples.List      tuple.go      none: capture/flow decodes
package headers
