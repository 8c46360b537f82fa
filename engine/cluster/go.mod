module github.com/flowdedup/flowdedup/engine/cluster

go 1.26.0

replace github.com/flowdedup/flowdedup => ../..

require github.com/flowdedup/flowdedup v0.0.0-00010101000000-000000000000

require (
	github.com/HdrHistogram/hdrhistogram-go v1.4.0 // indirect
	github.com/klauspost/cpuid/v2 v2.4.2 // indirect
	github.com/minio/highwayhash v1.0.4 // indirect
	golang.org/x/sys v0.49.0 // indirect
)
