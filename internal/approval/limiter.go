// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// callsPerWindow and limitWindow are the limit per client.
	callsPerWindow = 20
	limitWindow    = 30 * time.Second
	// maxClients bounds the memory of the limiter. When it is full, new clients share one allowance, so that using many addresses is no
	// advantage.
	maxClients = 10_000
)

// limiter counts calls per client address, in windows that start with the first call.
type limiter struct {
	mutex   sync.Mutex
	calls   int
	window  time.Duration
	clients map[netip.Addr]*allowance
}

type allowance struct {
	used int
	ends time.Time
}

func newLimiter(calls int, window time.Duration) *limiter {
	return &limiter{calls: calls, window: window, clients: map[netip.Addr]*allowance{}}
}

// admit counts a call. If the client has made too many, it returns how long to wait before the next one.
func (l *limiter) admit(client netip.Addr, now time.Time) (wait time.Duration, ok bool) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	a := l.allowanceOf(client, now)
	if a.used >= l.calls {
		return a.ends.Sub(now), false
	}
	a.used++
	return 0, true
}

func (l *limiter) allowanceOf(client netip.Addr, now time.Time) *allowance {
	if a := l.clients[client]; a != nil && now.Before(a.ends) {
		return a
	}
	if len(l.clients) >= maxClients {
		l.forgetOld(now)
	}
	if len(l.clients) >= maxClients {
		client = netip.Addr{}
		if a := l.clients[client]; a != nil && now.Before(a.ends) {
			return a
		}
	}
	a := &allowance{ends: now.Add(l.window)}
	l.clients[client] = a
	return a
}

func (l *limiter) forgetOld(now time.Time) {
	for client, a := range l.clients {
		if !now.Before(a.ends) {
			delete(l.clients, client)
		}
	}
}

// clientOf returns the client address of a call. The header applies only if a trusted proxy has set it: then the client is the last address
// that is not one of the proxies.
func clientOf(r *http.Request, trusted []netip.Prefix) netip.Addr {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	client := plain(peer.Addr())
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, hop := range slices.Backward(hops) {
		if !within(trusted, client) {
			return client
		}
		before, err := netip.ParseAddr(strings.TrimSpace(hop))
		if err != nil {
			return client
		}
		client = plain(before)
	}
	return client
}

// plain returns the canonical form of an address.
func plain(address netip.Addr) netip.Addr { return address.Unmap().WithZone("") }

func within(prefixes []netip.Prefix, address netip.Addr) bool {
	return slices.ContainsFunc(prefixes, func(p netip.Prefix) bool { return p.Contains(address) })
}
