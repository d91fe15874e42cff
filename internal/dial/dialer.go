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
	silenceTimeout   = 30 * time.Second // without a frame from the server, after which it is asked for a sign of life
	answerTimeout    = 15 * time.Second // for that sign
)

// Dialer returns a dialer that obeys the rules and gives up after five seconds.
func (r Rules) Dialer() *net.Dialer {
	return &net.Dialer{Timeout: connectTimeout, KeepAlive: keepAlive, Control: r.control}
}

// Transport returns an HTTP transport whose every connection obeys the rules. It ignores proxies of the environment, since behind a
// proxy the rules would judge the proxy's address only. How long an answer may take is up to the context of the request. Each
// call returns a transport with connections of its own.
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

// control sees each address that the dialer is about to connect to.
func (r Rules) control(network, address string, _ syscall.RawConn) error {
	if !strings.HasPrefix(network, "tcp") {
		return fmt.Errorf("connections by %s are refused: only TCP is allowed", network)
	}
	resolved, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("judge the address before connecting: %w", err)
	}
	return r.Check(resolved.Addr())
}
