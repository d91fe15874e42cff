// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"fmt"
	"io"
	"net"

	"espalier.dev/examples"
	"espalier.dev/internal/listening"
)

// Hold listens on the port of a kept Gitea that does not run, and closes each connection at once: the objects of the example still send
// credentials to that port, and no other program must receive them. If no Gitea is kept, it does nothing and returns nil.
func Hold(dataDir string) (io.Closer, error) {
	if !Kept(dataDir) {
		return nil, nil
	}
	kept, err := readState(Dir(dataDir))
	if err != nil {
		return nil, err
	}
	listener, err := listenAt(kept.Port)
	if listening.InUse(err) {
		return nil, fmt.Errorf("port %d is in use by another program, which may receive the token of the example %s", kept.Port, examples.GitOps)
	}
	if err != nil {
		return nil, err
	}
	go reject(listener)
	return listener, nil
}

// reject returns when the listener is closed.
func reject(listener *net.TCPListener) {
	for {
		connection, err := listener.Accept()
		if err != nil {
			return // The port stays in use until the listener is closed.
		}
		_ = connection.Close()
	}
}
