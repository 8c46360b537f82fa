// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/binary"

	"github.com/netsampler/goflow2/v2/decoders/netflow"
	"github.com/netsampler/goflow2/v2/decoders/netflowlegacy"
	"github.com/netsampler/goflow2/v2/decoders/sflow"

	"github.com/flowdedup/flowdedup/bench/lab/goflow"
)

// legacyRecords returns the fields of NetFlow v5 by the numbers that NetFlow v9 gave them.
func legacyRecords(p *netflowlegacy.PacketNetFlowV5) (all []map[uint16][]byte) {
	be := binary.BigEndian
	for _, r := range p.Records {
		all = append(all, map[uint16][]byte{
			1: be.AppendUint32(nil, r.DOctets), 2: be.AppendUint32(nil, r.DPkts), 4: {r.Proto},
			7: be.AppendUint16(nil, r.SrcPort), 8: be.AppendUint32(nil, uint32(r.SrcAddr)),
			11: be.AppendUint16(nil, r.DstPort), 12: be.AppendUint32(nil, uint32(r.DstAddr)),
		})
	}
	return all
}

// setRecords returns the fields of the records of sets, without those of enterprises.
func setRecords(sets []any) (all []map[uint16][]byte) {
	for _, set := range sets {
		data, ok := set.(netflow.DataFlowSet)
		if !ok {
			continue
		}
		for _, r := range data.Records {
			fields := map[uint16][]byte{}
			for _, f := range r.Values {
				if !f.PenProvided {
					fields[f.Type], _ = f.Value.([]byte)
				}
			}
			all = append(all, fields)
		}
	}
	return all
}

// samples returns the headers of the packets that were sampled.
func samples(p *sflow.Packet) (all []goflow.Sample) {
	for _, s := range p.Samples {
		sample, ok := s.(sflow.FlowSample)
		if !ok {
			continue
		}
		for _, r := range sample.Records {
			if raw, ok := r.Data.(sflow.SampledHeader); ok {
				all = append(all, goflow.Sample{Header: raw.HeaderData, Length: raw.FrameLength})
			}
		}
	}
	return all
}
