// SPDX-License-Identifier: Apache-2.0

// Package digest computes keyed digests of 128 bits, many at a time.
//
//	question                                   function               contract     plain twin
//	digest of a key of 16 or 48 bytes          AES.Sum16, AES.Sum48   aes.go       aes_generic.go
//	digest of messages with AES                AES.SumMessages        aes.go       aes_generic.go, polyval.go
//	digest of messages with HighwayHash        Highway.SumMessages    highway.go   highway.go
//	the same without some bits                 Masks.Sum              masks.go     masks.go
//
// Digests are the same on every CPU. Functions panic if dst is too short or a message is
// not in its buffer, and return no errors. dispatch_amd64.go and dispatch_arm64.go say
// which kernel of AES runs at which level. HighwayHash has a kernel on arm64 alone
// (highway_arm64.go); elsewhere the library's assembly runs. The package does not know the
// meaning of messages: capture/identity does.
package digest

// Digest is a keyed digest of 128 bits. Element 0 has bytes 0 to 7 of the output of the
// cipher or hash, element 1 bytes 8 to 15, both little-endian. Element 1 chooses the line
// of a filter, and element 0 everything inside the line.
type Digest = [2]uint64

// Message is one input of variable length: Len bytes at Off of the buffer of a batch, and
// a tweak that is digested with them (0 if there is nothing to add). Length and tweak are
// always part of the digested bytes, so no input is a prefix of another.
type Message struct {
	Off   uint32
	Len   uint32
	Tweak uint64
}

// MessageDigester computes the digests of packet identities. [AES] and [Highway] do.
// Configuration chooses between them, never the CPU. The digests of each are the same on
// every machine.
type MessageDigester interface {
	// SumMessages writes the digest of msgs[i], which lies in buf, to dst[i].
	SumMessages(dst []Digest, buf []byte, msgs []Message)
}

// isOutside reports whether the message reaches beyond buf. The sum cannot wrap.
func (m *Message) isOutside(buf []byte) bool {
	return uint64(m.Off)+uint64(m.Len) > uint64(len(buf))
}

// shortDst and beyondBuf return the texts of SumMessages' panics.
func shortDst(method string) string  { return "digest: " + method + ": dst shorter than msgs" }
func beyondBuf(method string) string { return "digest: " + method + ": message reaches beyond buf" }
