// Package sockets has what captures through sockets of Linux share: how they wait for
// packets, are stopped while they wait, and learn what happened to an interface.
package sockets
