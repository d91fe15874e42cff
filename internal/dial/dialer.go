// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package dial

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"syscall"
	"time"
)

const (
	connectTimeout   = 5 * time.Second
	handshakeTimeout = 5 * time.Second
	keepAlive        = 30 * time.Second
	idleTimeout      = 90 * time.Second
	silenceTimeout   = 30 * time.Second // without a frame from the server, after which it is pinged
	answerTimeout    = 15 * time.Second // for the response to that ping
)

// Dialer returns a dialer that obeys the rules and times out after five seconds.
func (r Rules) Dialer() *net.Dialer {
	return &net.Dialer{Timeout: connectTimeout, KeepAlive: keepAlive, Control: r.control}
}

// Transport returns an HTTP transport that obeys the rules for every connection. It ignores proxies of the environment, because behind a
// proxy the rules would check only the proxy's address. The context of the request limits the response time. Each call returns a transport
// with separate connections.
func (r Rules) Transport(trust *tls.Config) *http.Transport {
	return &http.Transport{
		DialContext:         r.Dialer().DialContext,
		TLSClientConfig:     trust,
		TLSHandshakeTimeout: handshakeTimeout,
		IdleConnTimeout:     idleTimeout,
		MaxIdleConnsPerHost: 16,
		ForceAttemptHTTP2:   true,
		HTTP2:               &http.HTTP2Config{SendPingTimeout: silenceTimeout, PingTimeout: answerTimeout},
	}
}

// control checks each address that the dialer is about to connect to.
func (r Rules) control(network, address string, _ syscall.RawConn) error {
	if !strings.HasPrefix(network, "tcp") {
		return fmt.Errorf("connections over %s are not allowed: only TCP is", network)
	}
	resolved, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("check the address before connecting: %w", err)
	}
	return r.Check(resolved.Addr())
}
