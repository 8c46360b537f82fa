// SPDX-License-Identifier: Apache-2.0

// Command goflow2 decodes messages of flow exporters with goflow2, so that tests of the root
// module can compare their readers with it and need no library for that. It reads a Message of
// JSON a line, and answers each with a Decoded on a line. With the name of a capture it counts the
// records in it, to be timed.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/gopacket/gopacket/pcapgo"
	"github.com/netsampler/goflow2/v2/decoders/netflow"
	"github.com/netsampler/goflow2/v2/decoders/netflowlegacy"
	"github.com/netsampler/goflow2/v2/decoders/sflow"

	"github.com/flowdedup/flowdedup/bench/lab/goflow"
)

func main() {
	err := error(nil)
	if len(os.Args) > 1 {
		err = count(os.Args[1], os.Stdout)
	} else {
		err = answer(os.Stdin, os.Stdout)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// count decodes the messages in a capture of UDP over IPv4 over Ethernet, and prints how many records
// and samples they have.
func count(name string, out io.Writer) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	src, err := pcapgo.NewReader(bufio.NewReaderSize(file, 256<<10))
	if err != nil {
		return err
	}
	templates, n := map[[4]byte]netflow.NetFlowTemplateSystem{}, 0
	for {
		frame, _, err := src.ZeroCopyReadPacketData()
		if errors.Is(err, io.EOF) {
			_, err = fmt.Fprintln(out, n)
			return err
		} else if err != nil {
			return err
		}
		from := [4]byte(frame[26:])
		if templates[from] == nil {
			templates[from] = netflow.CreateTemplateSystem()
		}
		n += countOf(frame[42:], templates[from])
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

// message is a decoded message. Only packets of its kind are set.
type message struct {
	v5    netflowlegacy.PacketNetFlowV5
	v9    netflow.NFv9Packet
	ipfix netflow.IPFIXPacket
	sflow sflow.Packet
}

// read reads a message of NetFlow v5, v9, IPFIX or sFlow, which its first bytes tell apart.
func (m *message) read(data []byte, templates netflow.NetFlowTemplateSystem) error {
	switch {
	case bytes.HasPrefix(data, []byte{0, 5}):
		return netflowlegacy.DecodeMessageVersion(bytes.NewBuffer(data), &m.v5)
	case bytes.HasPrefix(data, []byte{0, 9}), bytes.HasPrefix(data, []byte{0, 10}):
		return netflow.DecodeMessageVersion(bytes.NewBuffer(data), templates, &m.v9, &m.ipfix)
	}
	return sflow.DecodeMessageVersion(bytes.NewBuffer(data), &m.sflow)
}

// countOf returns how many records or samples a message has.
func countOf(data []byte, templates netflow.NetFlowTemplateSystem) int {
	var m message
	if err := m.read(data, templates); err != nil {
		return 0
	}
	n := len(m.v5.Records) + len(m.sflow.Samples)
	for _, set := range append(m.v9.FlowSets, m.ipfix.FlowSets...) {
		if records, ok := set.(netflow.DataFlowSet); ok {
			n += len(records.Records)
		}
	}
	return n
}

// decode decodes a message.
func decode(data []byte, templates netflow.NetFlowTemplateSystem) (d goflow.Decoded) {
	var m message
	err := m.read(data, templates)
	d.Records = append(legacyRecords(&m.v5), setRecords(append(m.v9.FlowSets, m.ipfix.FlowSets...))...)
	d.Samples = samples(&m.sflow)
	if err != nil {
		d.Error, d.Untemplated = err.Error(), errors.Is(err, netflow.ErrorTemplateNotFound)
	}
	return d
}
