// SPDX-License-Identifier: Apache-2.0

// Command goflow2 decodes messages of flow exporters with goflow2, so that tests of the root
// module can compare their readers with it and need no library for that. It reads a Message of
// JSON a line, and answers each with a Decoded on a line.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log"
	"os"

	"github.com/netsampler/goflow2/v2/decoders/netflow"
	"github.com/netsampler/goflow2/v2/decoders/netflowlegacy"
	"github.com/netsampler/goflow2/v2/decoders/sflow"

	"github.com/flowdedup/flowdedup/bench/lab/goflow"
)

func main() {
	if err := answer(os.Stdin, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// answer decodes messages until there is none left. Each sender has its own templates.
func answer(in io.Reader, out io.Writer) error {
	templates := map[string]netflow.NetFlowTemplateSystem{}
	messages, answers := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var m goflow.Message
		if err := messages.Decode(&m); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if templates[m.From] == nil {
			templates[m.From] = netflow.CreateTemplateSystem()
		}
		if err := answers.Encode(decode(m.Data, templates[m.From])); err != nil {
			return err
		}
	}
}

// decode decodes a message of NetFlow v5, v9, IPFIX or sFlow, which its first bytes tell apart.
func decode(data []byte, templates netflow.NetFlowTemplateSystem) (d goflow.Decoded) {
	var err error
	switch {
	case bytes.HasPrefix(data, []byte{0, 5}):
		var p netflowlegacy.PacketNetFlowV5
		err = netflowlegacy.DecodeMessageVersion(bytes.NewBuffer(data), &p)
		d.Records = legacyRecords(&p)
	case bytes.HasPrefix(data, []byte{0, 9}), bytes.HasPrefix(data, []byte{0, 10}):
		var v9 netflow.NFv9Packet
		var ipfix netflow.IPFIXPacket
		err = netflow.DecodeMessageVersion(bytes.NewBuffer(data), templates, &v9, &ipfix)
		d.Records = setRecords(append(v9.FlowSets, ipfix.FlowSets...))
	default:
		var p sflow.Packet
		err = sflow.DecodeMessageVersion(bytes.NewBuffer(data), &p)
		d.Samples = samples(&p)
	}
	if err != nil {
		d.Error, d.Untemplated = err.Error(), errors.Is(err, netflow.ErrorTemplateNotFound)
	}
	return d
}
