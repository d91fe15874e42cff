// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package dial_test

import (
	"net/netip"
	"strings"
	"testing"

	"espalier.dev/internal/dial"
)

func TestAddresses(t *testing.T) {
	loopback := dial.Rules{AllowLoopback: true}
	only := dial.Rules{Only: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("169.254.0.0/16")}}
	never := dial.Rules{Never: []netip.Prefix{netip.MustParsePrefix("10.96.0.1/32")}}
	for _, c := range []struct {
		rules   dial.Rules
		address string
		refused string // part of the message; empty if the address is allowed
	}{
		{dial.Rules{}, "203.0.113.7", ""},
		{dial.Rules{}, "10.1.2.3", ""},
		{dial.Rules{}, "2001:db8::1", ""},
		{dial.Rules{}, "fd00::1", ""},
		{dial.Rules{}, "127.0.0.1", "loopback"},
		{dial.Rules{}, "127.9.9.9", "loopback"},
		{dial.Rules{}, "::1", "loopback"},
		{dial.Rules{}, "::ffff:127.0.0.1", "loopback"},
		{dial.Rules{}, "64:ff9b::127.0.0.1", "loopback"},
		{loopback, "127.0.0.1", ""},
		{loopback, "::1", ""},
		{loopback, "169.254.169.254", "metadata"},
		{loopback, "::ffff:169.254.169.254", "metadata"},
		{loopback, "64:ff9b::169.254.169.254", "represents 169.254.169.254"},
		{loopback, "64:ff9b:1::169.254.169.254", "metadata"},
		{loopback, "2002:a9fe:a9fe::1", "metadata"},
		{loopback, "::169.254.169.254", "metadata"},
		{loopback, "169.254.170.2", "metadata"},
		{loopback, "fd00:ec2::254", "metadata"},
		{loopback, "fd20:ce::254", "metadata"},
		{loopback, "168.63.129.16", "metadata"},
		{loopback, "100.100.100.200", "metadata"},
		{loopback, "169.254.1.1", "link-local"},
		{loopback, "fe80::1", "link-local"},
		{loopback, "fe80::1%eth0", "link-local"},
		{loopback, "224.0.0.1", "multicast"},
		{loopback, "ff02::1", "multicast"},
		{loopback, "255.255.255.255", "broadcast"},
		{loopback, "0.0.0.0", "unspecified"},
		{loopback, "0.1.2.3", "unspecified"},
		{loopback, "::", "unspecified"},
		{only, "10.200.0.1", ""},
		{only, "192.168.0.1", "not among those"},
		{only, "127.0.0.1", "loopback"},
		{only, "169.254.169.254", "metadata"},
		{never, "10.96.0.1", "excluded"},
		{never, "::ffff:10.96.0.1", "excluded"},
		{never, "10.96.0.2", ""},
	} {
		err := c.rules.Check(netip.MustParseAddr(c.address))
		switch {
		case c.refused == "" && err != nil:
			t.Errorf("%s: %v", c.address, err)
		case c.refused != "" && (err == nil || !dial.IsRefusal(err) || !strings.Contains(err.Error(), c.refused)):
			t.Errorf("%s: error %v, want a refusal because of %q", c.address, err, c.refused)
		}
	}
	if err := loopback.Check(netip.Addr{}); !dial.IsRefusal(err) {
		t.Errorf("no address at all: %v", err)
	}
}

// FuzzCheck searches for spellings of a forbidden IPv4 address that the rules let through.
func FuzzCheck(f *testing.F) {
	for _, seed := range []string{"169.254.169.254", "::ffff:127.0.0.1", "64:ff9b::1", "2002:7f00:1::", "::1", "fe80::1%lo", "10.0.0.1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		address, err := netip.ParseAddr(text)
		if err != nil {
			return
		}
		plain := address.Unmap().WithZone("")
		forbidden := plain.IsLoopback() || plain.IsUnspecified() || plain.IsMulticast() || plain.IsLinkLocalUnicast()
		if err := (dial.Rules{}).Check(address); err == nil && forbidden {
			t.Errorf("%s was let through", text)
		}
		if (dial.Rules{}).Check(address) == nil && (dial.Rules{AllowLoopback: true}).Check(address) != nil {
			t.Errorf("%s: a rule that allows more refuses it", text)
		}
	})
}
