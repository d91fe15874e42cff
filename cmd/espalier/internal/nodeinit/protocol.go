// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package nodeinit is the first process of a node: the one with ID 1 in separate namespaces. It mounts over the directories in which
// the node's programs otherwise leave files on the machine, starts them, and reaps those that end. It executes orders, lines of JSON on its
// standard input, and answers each with a line on its standard output. When its input ends, it ends, and the kernel ends everything else.
package nodeinit

// StateDir is the path of the node's directory for the programs of the node.
const StateDir = "/run/node"

// Order is an order to the first process: one of its fields is set.
type Order struct {
	Network *Network `json:"network,omitempty"`
	Start   *Process `json:"start,omitempty"`
}

// Network describes how the node is connected.
type Network struct {
	Uplink  string `json:"uplink"`  // an interface that was moved here
	Bridge  string `json:"bridge"`  // to be created; pods and the uplink are its ports
	Address string `json:"address"` // of the node, on the bridge, with the length of the prefix
	Gateway string `json:"gateway"` // the machine at the other end of the uplink
}

// Process is a program to start.
type Process struct {
	Name string   `json:"name"`
	Args []string `json:"args"` // the first one is the program; empty for this one
	Env  []string `json:"env,omitempty"`
}

// News is an answer to an order, or reports that a process has ended.
type News struct {
	Done  bool   `json:"done,omitempty"`  // the order was carried out
	Error string `json:"error,omitempty"` // why it was not
	Ended string `json:"ended,omitempty"` // the name of a process that has ended
	How   string `json:"how,omitempty"`   // how it ended
}
