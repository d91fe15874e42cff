// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package dial

import (
	"errors"
	"fmt"
	"net/netip"
)

// Rules say which addresses may be dialled. The zero value allows all but loopback addresses and those that are never allowed: link-local,
// multicast and unspecified addresses and the metadata services of clouds.
type Rules struct {
	// AllowLoopback permits addresses of this machine. In a pod, these belong to the other processes of the pod, so it is meant for tests and
	// for machines on which the API server itself listens on loopback.
	AllowLoopback bool

	// Only, unless it is empty, lists the only networks that may be dialled. It does not lift any other rule.
	Only []netip.Prefix

	// Never lists further networks that must not be dialled.
	Never []netip.Prefix
}

// Refusal is the error for an address that the rules forbid. Retries are useless as long as the name resolves to that address.
type Refusal struct {
	Address netip.Addr
	Why     string
}

// Error names the address and the rule.
func (r *Refusal) Error() string {
	return fmt.Sprintf("address %s is rejected: %s", r.Address, r.Why)
}

// IsRefusal reports whether an error comes from an address that the rules forbid.
func IsRefusal(err error) bool {
	var refusal *Refusal
	return errors.As(err, &refusal)
}

// Check returns a *Refusal if the rules forbid the address. An IPv6 address that represents an IPv4 address is checked as both.
func (r Rules) Check(address netip.Addr) error {
	address = address.Unmap().WithZone("")
	if why := r.complaint(address); why != "" {
		return &Refusal{Address: address, Why: why}
	}
	if inner, ok := embedded(address); ok {
		if why := r.complaint(inner); why != "" {
			return &Refusal{Address: address, Why: "it represents " + inner.String() + ": " + why}
		}
	}
	return nil
}

func (r Rules) complaint(address netip.Addr) string {
	if why := alwaysRefused(address); why != "" {
		return why
	}
	if address.IsLoopback() && !r.AllowLoopback {
		return "loopback addresses are not allowed here"
	}
	if within(address, r.Never) {
		return "its network is excluded by configuration"
	}
	if len(r.Only) > 0 && !within(address, r.Only) {
		return "its network is not among those that the configuration allows"
	}
	return ""
}

func alwaysRefused(address netip.Addr) string {
	switch {
	case !address.IsValid():
		return "it is not an IP address"
	case address.IsUnspecified() || thisNetwork.Contains(address):
		return "unspecified addresses are never allowed"
	case address.IsMulticast() || address == broadcast:
		return "multicast and broadcast addresses are never allowed"
	case within(address, metadata):
		return "metadata services of clouds are never allowed"
	case address.IsLinkLocalUnicast():
		return "link-local addresses are never allowed"
	}
	return ""
}

var (
	thisNetwork = netip.MustParsePrefix("0.0.0.0/8") // Linux treats it as this machine
	broadcast   = netip.MustParseAddr("255.255.255.255")

	// metadata lists where clouds give credentials to any process on a machine.
	metadata = []netip.Prefix{
		netip.MustParsePrefix("169.254.169.254/32"), // most clouds
		netip.MustParsePrefix("169.254.170.0/24"),   // AWS containers and pods
		netip.MustParsePrefix("fd00:ec2::/64"),      // AWS
		netip.MustParsePrefix("fd20:ce::254/128"),   // Google
		netip.MustParsePrefix("168.63.129.16/32"),   // Azure
		netip.MustParsePrefix("100.100.100.200/32"), // Alibaba
		netip.MustParsePrefix("192.0.0.192/32"),     // Oracle
	}
)

func within(address netip.Addr, networks []netip.Prefix) bool {
	for _, network := range networks {
		if network.Contains(address) {
			return true
		}
	}
	return false
}

// translations are the IPv6 networks whose addresses contain an IPv4 address, and its first byte.
var translations = []struct {
	network netip.Prefix
	offset  int
}{
	{netip.MustParsePrefix("64:ff9b::/96"), 12},   // NAT64
	{netip.MustParsePrefix("64:ff9b:1::/48"), 12}, // NAT64 of a site, as networks of 96 bits
	{netip.MustParsePrefix("2002::/16"), 2},       // 6to4
	{netip.MustParsePrefix("::/96"), 12},          // IPv4-compatible, long abandoned
}

func embedded(address netip.Addr) (netip.Addr, bool) {
	if !address.Is6() || address.IsLoopback() {
		return netip.Addr{}, false
	}
	bytes := address.As16()
	for _, t := range translations {
		if t.network.Contains(address) {
			return netip.AddrFrom4([4]byte(bytes[t.offset : t.offset+4])), true
		}
	}
	return netip.Addr{}, false
}
