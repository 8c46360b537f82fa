#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Guess: JetStream remembers a Nats-Msg-Id for its window of two minutes, also through a restart of the
#        server: the stream is in files.
# Is:    after a restart it knows only the ids of messages that are still stored. In a work queue
#        consumed messages are not, so that a publisher who sends again is not called a duplicate, and
#        the message is worked on twice.
# Why:   publishers send again exactly when a server restarts. "Once within the window" holds for what
#        waits in the queue, and not for what was done.
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

// start returns a server whose streams are in a folder.
func start() (*server.Server, jetstream.JetStream) {
	s := must(server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: "store", NoSigs: true, NoLog: true}))
	s.Start()
	if !s.ReadyForConnections(10 * time.Second) {
		log.Fatal("no server")
	}
	return s, must(jetstream.New(must(nats.Connect(s.ClientURL()))))
}

func main() {
	ctx := context.Background()
	s, js := start()
	must(js.CreateStream(ctx, jetstream.StreamConfig{Name: "work", Subjects: []string{"work"}, Retention: jetstream.WorkQueuePolicy}))
	consumer := must(js.CreateConsumer(ctx, "work", jetstream.ConsumerConfig{Durable: "worker", AckPolicy: jetstream.AckExplicitPolicy}))
	publish := func(id string) bool {
		return must(js.Publish(ctx, "work", []byte("packet"), jetstream.WithMsgID(id))).Duplicate
	}
	publish("done")
	must(0, must(consumer.Next()).DoubleAck(ctx))
	publish("waits")
	fmt.Printf("before: done %v, waits %v; ", publish("done"), publish("waits"))
	s.Shutdown()
	s.WaitForShutdown()
	s, js = start()
	fmt.Printf("after a restart: done %v, waits %v\n", publish("done"), publish("waits"))
}
GO
go mod tidy >/dev/null 2>&1 || { echo "the modules cannot be had"; exit 2; }
seen=$(go run .)
echo "nats-server v2.15.2, duplicate or not: $seen"
[ "$seen" = "before: done true, waits true; after a restart: done false, waits true" ]
