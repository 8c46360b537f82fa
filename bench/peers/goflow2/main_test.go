// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"maps"
	"testing"

	"github.com/netsampler/goflow2/v2/decoders/netflow"

	"github.com/flowdedup/flowdedup/bench/lab/goflow"
)

var be = binary.BigEndian

// flowFields are the fields of a record by the numbers of NetFlow v9, and their sizes in bytes.
var flowFields = [][2]uint16{{8, 4}, {12, 4}, {7, 2}, {11, 2}, {4, 1}, {2, 4}, {1, 4}}

// flowRecord is a record of these fields.
var flowRecord = []byte{192, 0, 2, 1, 198, 51, 100, 7, 156, 64, 1, 187, 6, 0, 0, 0, 10, 0, 0, 15, 160}

// set is a set of NetFlow v9, padded to four bytes.
func set(id uint16, content []byte) []byte {
	for len(content)%4 != 0 {
		content = append(content, 0)
	}
	return append(be.AppendUint16(be.AppendUint16(nil, id), uint16(4+len(content))), content...)
}

// templateSet describes flowRecord.
func templateSet() []byte {
	p := be.AppendUint16(be.AppendUint16(nil, 256), uint16(len(flowFields)))
	for _, f := range flowFields {
		p = be.AppendUint16(be.AppendUint16(p, f[0]), f[1])
	}
	return set(0, p)
}

// v9 is a message of NetFlow v9.
func v9(sequence uint32, count uint16, content []byte) []byte {
	p := be.AppendUint16([]byte{0, 9}, count)
	for _, n := range []uint32{0, 1_700_000_000, sequence, 1} {
		p = be.AppendUint32(p, n)
	}
	return append(p, content...)
}

// v5 is a message of NetFlow v5 with the flow of flowRecord.
func v5() []byte {
	p := append([]byte{0, 5, 0, 1}, make([]byte, 20)...)
	p = append(append(p, flowRecord[:8]...), make([]byte, 8)...)
	p = append(append(p, flowRecord[13:]...), make([]byte, 8)...)
	p = append(append(p, flowRecord[8:12]...), 0, 0, flowRecord[12])
	return append(p, make([]byte, 9)...)
}

// sampled is a datagram of sFlow with a sample of the first bytes of a packet.
func sampled(header []byte, length uint32) []byte {
	words := func(all ...uint32) (p []byte) {
		for _, n := range all {
			p = be.AppendUint32(p, n)
		}
		return p
	}
	packet := append(words(1, length, 4, uint32(len(header))), header...)
	sample := append(words(1, 1, 100, 100, 0, 3, 4, 1, 1, uint32(len(packet))), packet...)
	return append(words(5, 1, 0xc0000201, 0, 1, 0, 1, 1, uint32(len(sample))), sample...)
}

// TestAnswer decodes a message of each kind, and one without its template.
func TestAnswer(t *testing.T) {
	messages := []goflow.Message{
		{From: "a", Data: v5()}, {From: "a", Data: v9(0, 1, templateSet())}, {From: "a", Data: v9(1, 1, set(256, flowRecord))},
		{From: "b", Data: v9(1, 1, set(256, flowRecord))}, {From: "a", Data: sampled([]byte("abcdefgh"), 1500)},
		{From: "a", Data: []byte{0, 9, 0}},
	}
	var in, out bytes.Buffer
	for _, m := range messages {
		if err := json.NewEncoder(&in).Encode(&m); err != nil {
			t.Fatal(err)
		}
	}
	if err := answer(&in, &out); err != nil {
		t.Fatal(err)
	}
	fields := map[uint16][]byte{}
	rest := flowRecord
	for _, f := range flowFields {
		fields[f[0]], rest = rest[:f[1]], rest[f[1]:]
	}
	answers := json.NewDecoder(&out)
	for i, want := range []goflow.Decoded{
		{Records: []map[uint16][]byte{fields}}, {}, {Records: []map[uint16][]byte{fields}}, {Untemplated: true},
		{Samples: []goflow.Sample{{Header: []byte("abcdefgh"), Length: 1500}}}, {Error: "short"},
	} {
		var got goflow.Decoded
		if err := answers.Decode(&got); err != nil {
			t.Fatal(i, err)
		}
		same := len(got.Records) == len(want.Records) && len(got.Samples) == len(want.Samples)
		for r := range want.Records {
			same = same && maps.EqualFunc(got.Records[r], want.Records[r], bytes.Equal)
		}
		for s := range want.Samples {
			same = same && bytes.Equal(got.Samples[s].Header, want.Samples[s].Header) && got.Samples[s].Length == want.Samples[s].Length
		}
		fails := want.Untemplated || want.Error != ""
		if !same || got.Untemplated != want.Untemplated || (got.Error != "") != fails {
			t.Errorf("message %d: %+v, want %+v", i, got, want)
		}
	}
}

// BenchmarkV9 decodes messages of 28 records, as many as in the benchmark of capture/records/export.
func BenchmarkV9(b *testing.B) {
	const records = 28
	templates := netflow.CreateTemplateSystem()
	decode(v9(0, 1, templateSet()), templates)
	message := v9(1, records, set(256, bytes.Repeat(flowRecord, records)))
	for n := 0; n < b.N; n += records {
		var p netflow.NFv9Packet
		if err := netflow.DecodeMessageVersion(bytes.NewBuffer(message), templates, &p, nil); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrecords/s")
}
