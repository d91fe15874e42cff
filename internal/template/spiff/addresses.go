// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package spiff

import (
	"net/netip"
)

// calculateAddress applies an operator to an IP address or a network in CIDR notation.
func calculateAddress(operator, text string, right value) (value, error) {
	switch operator {
	case "+", "-":
		return moveAddress(operator, text, right)
	case "*", "/":
		return scaleNetwork(operator, text, right)
	}
	return nil, problem("the operator %s does not apply to a string", operator)
}

// moveAddress adds an integer to an address, subtracts one, or counts the addresses between two. An address with a network
// stays in its network.
func moveAddress(operator, text string, right value) (value, error) {
	address, network, ok := parseAddress(text)
	if !ok {
		return nil, problem("the operator %s applies to numbers and IP addresses only", operator)
	}
	if other, isText := right.(string); isText && operator == "-" {
		return distance(address, other)
	}
	offset, ok := right.(int64)
	if !ok {
		return nil, problem("only an integer can be added to or subtracted from an IP address, not a value of type %s", typeOf(right))
	}
	if operator == "-" {
		offset = -offset
	}
	moved := addOffset(address, offset)
	if !network.IsValid() {
		return moved.String(), nil
	}
	if !network.Contains(moved) {
		return nil, problem("the resulting IP address is not in its network")
	}
	return netip.PrefixFrom(moved, network.Bits()).String(), nil
}

// parseAddress reads an address, with or without a network.
func parseAddress(text string) (netip.Addr, netip.Prefix, bool) {
	if address, err := netip.ParseAddr(text); err == nil {
		return address.Unmap(), netip.Prefix{}, true
	}
	network, err := netip.ParsePrefix(text)
	return network.Addr(), network, err == nil
}

// addOffset adds to an address as to a large number, and wraps around when it is out of range.
func addOffset(address netip.Addr, offset int64) netip.Addr {
	bytes := address.AsSlice()
	for i := len(bytes) - 1; i >= 0 && offset != 0; i-- {
		sum := offset + int64(bytes[i])
		bytes[i] = byte(sum)
		offset = sum >> 8
	}
	moved, _ := netip.AddrFromSlice(bytes)
	return moved
}

func distance(address netip.Addr, text string) (value, error) {
	other, _, ok := parseAddress(text)
	if !ok || other.BitLen() != address.BitLen() {
		return nil, problem("the operator - needs two IP addresses of the same kind")
	}
	a, b := address.AsSlice(), other.AsSlice()
	difference := int64(0)
	for i := range a {
		difference = difference*256 + int64(a[i]) - int64(b[i])
	}
	return difference, nil
}

// scaleNetwork returns the network that is a number of networks further, or the first of a number of parts of the network.
func scaleNetwork(operator, text string, right value) (value, error) {
	network, err := netip.ParsePrefix(text)
	if err != nil {
		return nil, problem("the operator %s applies to numbers and networks in CIDR notation only", operator)
	}
	count, ok := right.(int64)
	if !ok {
		return nil, problem("a network can only be multiplied or divided by an integer, not by a value of type %s", typeOf(right))
	}
	network = network.Masked()
	if operator == "*" {
		moved := addOffset(network.Addr(), networkSize(network)*count)
		return netip.PrefixFrom(moved, network.Bits()).String(), nil
	}
	if count < 1 {
		return nil, problem("a network can only be divided by a positive integer")
	}
	bits := network.Bits()
	for parts := int64(1); parts < count && parts > 0; parts *= 2 {
		bits++
	}
	if bits > network.Addr().BitLen() {
		return nil, problem("the network is too small to be divided by this number")
	}
	return netip.PrefixFrom(network.Addr(), bits).String(), nil
}

// networkSize returns the number of addresses in a network, or zero if that is not an int64.
func networkSize(network netip.Prefix) int64 {
	bits := network.Addr().BitLen() - network.Bits()
	if bits >= 63 {
		return 0
	}
	return 1 << bits
}

// lastAddress returns the highest address of a network.
func lastAddress(network netip.Prefix) netip.Addr {
	bytes := network.Masked().Addr().AsSlice()
	for bit := network.Bits(); bit < network.Addr().BitLen(); bit++ {
		bytes[bit/8] |= 0x80 >> (bit % 8)
	}
	last, _ := netip.AddrFromSlice(bytes)
	return last
}
