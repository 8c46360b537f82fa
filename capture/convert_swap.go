package capture

import (
	"math/bits"
	"slices"
)

// swapBlock turns a big-endian block into a little-endian one in place. It
// returns false for a type whose layout is not known and for a block that is
// damaged inside. Numbers inside values that have no byte order of their own
// (addresses, text, custom data) stay as they are.
func swapBlock(block []byte, kind uint32) bool {
	body := block[blockHead : len(block)-4]
	ok := true
	switch kind {
	case BlockInterface:
		ok = len(body) >= 8
		if ok {
			swap16(body[:4])
			swap32(body[4:8])
			swapOptions(body[8:], kind)
		}
	case BlockStatistics:
		ok = len(body) >= 12
		if ok {
			swap32(body[:12])
			swapOptions(body[12:], kind)
		}
	case BlockNameResolution:
		// Records look like options; those follow the record that ends them.
		swapOptions(body[swapOptions(body, kind):], kind)
	case BlockDecryption:
		ok = swapSecrets(body)
	case BlockCustom:
		ok = len(body) >= 4
		if ok {
			swap32(body[:4])
		}
	case BlockJournal:
	default:
		return false
	}
	swap32(block[:blockHead])
	swap32(block[len(block)-4:])
	return ok
}

// swapSecrets converts a decryption secrets block: type, length, data, options.
func swapSecrets(body []byte) bool {
	if len(body) < 8 {
		return false
	}
	swap32(body[:8])
	size := le.Uint32(body[4:])
	if uint64(size) > uint64(len(body)-8) {
		return false
	}
	swapOptions(body[min(8+int(pad4(size)), len(body)):], BlockDecryption)
	return true
}

// swapOptions turns a big-endian option list into a little-endian one in place
// and returns where it ended. A list that breaks is ended there with zeros,
// which are an end-of-options mark.
func swapOptions(list []byte, kind uint32) int {
	at := 0
	for len(list)-at >= 4 {
		swap16(list[at : at+4])
		code, size := le.Uint16(list[at:]), int(le.Uint16(list[at+2:]))
		at += 4
		if code == optEnd {
			return at
		}
		if size > len(list)-at {
			clear(list[at-4:])
			return len(list)
		}
		swapValue(list[at:at+size], kind, code)
		at = min(at+(size+3)&^3, len(list))
	}
	return at
}

// swapValue converts the integers in the value of one option.
func swapValue(value []byte, kind uint32, code uint16) {
	switch optionInteger(kind, code) {
	case 8:
		if len(value) >= 8 {
			slices.Reverse(value[:8])
		}
	case 4:
		swap32(value)
	}
	if code == optCustomText || code == optCustomData {
		swap32(value[:min(len(value), 4)])
	}
}

// optionInteger returns the size in bytes of the integers that an option's
// value consists of, or 0.
func optionInteger(kind uint32, code uint16) int {
	switch kind {
	case BlockInterface:
		switch code {
		case optSpeed, optTSOffset, optTxSpeed, optRxSpeed:
			return 8
		case optZone:
			return 4
		}
	case BlockEnhancedPacket:
		switch code {
		case optDropCount, optPacketID:
			return 8
		case optFlags, optQueue, optThread:
			return 4
		}
	case BlockStatistics:
		switch {
		case code == optStatStart || code == optStatEnd:
			return 4 // high and low half of a time
		case code > optStatEnd && code <= optStatUser:
			return 8
		}
	}
	return 0
}

// swap16 reverses the bytes of each whole 16-bit word of p.
func swap16(p []byte) {
	for ; len(p) >= 2; p = p[2:] {
		le.PutUint16(p, bits.ReverseBytes16(le.Uint16(p)))
	}
}

// swap32 reverses the bytes of each whole 32-bit word of p.
func swap32(p []byte) {
	for ; len(p) >= 4; p = p[4:] {
		le.PutUint32(p, bits.ReverseBytes32(le.Uint32(p)))
	}
}
