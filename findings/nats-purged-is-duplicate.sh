#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Guess: a stream of JetStream that was purged is as new. A message that is published again with its
#        Nats-Msg-Id is stored.
# Is:    it is called a duplicate, of a message that is not there, with its old sequence number. The
#        publisher has an acknowledgment without error, and the stream stays empty, for the two minutes
#        of the window. Deleting a single message has the same effect.
# Why:   who empties a stream to replay captures, or deletes a damaged message to send it anew, loses
#        what comes within the window, and all acknowledgments look well.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat >go.mod <<'MOD'
module finding

go 1.26

require (
	github.com/nats-io/nats-server/v2 v2.15.2
	github.com/nats-io/nats.go v1.55.0
)
MOD
cat >main.go <<'GO'
package main

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

func must[V any](v V, err error) V {
	if err != nil {
		log.Fatal(err)
	}
	return v
}

func main() {
	s := must(server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: "store", NoSigs: true, NoLog: true}))
	s.Start()
	if !s.ReadyForConnections(10 * time.Second) {
		log.Fatal("no server")
	}
	js, ctx := must(jetstream.New(must(nats.Connect(s.ClientURL())))), context.Background()
	stream := must(js.CreateStream(ctx, jetstream.StreamConfig{Name: "packets", Subjects: []string{"packets.>"}}))
	publish := func(id string) string {
		ack := must(js.Publish(ctx, "packets.a", []byte("packet"), jetstream.WithMsgID(id)))
		return fmt.Sprintf("duplicate %v, %d stored", ack.Duplicate, must(stream.Info(ctx)).State.Msgs)
	}
	fmt.Printf("first: %s; ", publish("1"))
	must(0, stream.Purge(ctx))
	fmt.Printf("purged: %s; ", publish("1"))
	publish("2")
	must(0, stream.DeleteMsg(ctx, 2))
	fmt.Printf("deleted: %s\n", publish("2"))
}
GO
go mod tidy >/dev/null 2>&1 || { echo "the modules cannot be had"; exit 2; }
seen=$(go run .)
echo "nats-server v2.15.2: $seen"
[ "$seen" = "first: duplicate false, 1 stored; purged: duplicate true, 0 stored; deleted: duplicate true, 0 stored" ]
