// Package rotate writes a stream of packets to one capture file after another, each of
// which can be read alone: by size, by intervals of packet time, and with the oldest
// removed.
package rotate
