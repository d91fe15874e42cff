// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

const (
	interfaceFolder = "/sys/class/net"
	interfacePrefix = "espalier"
	bridgeName      = "pods"

	// networks is the maximum number of nodes on a machine: 10.244.0.0/24 and those after it.
	networks = 256

	machineHost, nodeHost, firstPodHost, lastPodHost = 1, 2, 16, 254
	prefixLength                                     = 24
)

// Network is a separate network between this machine and a node, claimed for this process.
type Network struct {
	number int
	owner  owner
}

// Machine returns the address of this machine on the network.
func (n *Network) Machine() net.IP { return n.host(machineHost) }

// Node returns the address of the node.
func (n *Network) Node() net.IP { return n.host(nodeHost) }

func (n *Network) host(number int) net.IP {
	return net.IPv4(10, 244, byte(n.number), byte(number)).To4()
}

// Subnet returns the subnet with the addresses of all pods.
func (n *Network) Subnet() string { return fmt.Sprintf("%s/%d", n.host(0), prefixLength) }

// outside returns the name of the interface on this machine, and inside that of its other end.
func (n *Network) outside() string { return interfacePrefix + strconv.Itoa(n.number) }
func (n *Network) inside() string  { return n.outside() + "n" }

// Claim finds unused addresses, and connects this machine to them. It first removes the leftovers of nodes whose processes were killed.
func Claim(ctx context.Context) (*Network, error) {
	unlock, err := lockInterfaces()
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := errors.Join(removeAbandonedInterfaces(ctx), removeAbandonedCgroups(ctx)); err != nil {
		return nil, err
	}
	owner, err := thisProcess()
	if err != nil {
		return nil, err
	}
	used, err := usedNetworks()
	if err != nil {
		return nil, err
	}
	for number := range networks {
		n := &Network{number: number, owner: owner}
		if overlaps(used, netip.MustParsePrefix(n.Subnet())) {
			continue
		}
		if err := n.connect(ctx); err != nil {
			return nil, errors.Join(err, n.Release(context.WithoutCancel(ctx)))
		}
		return n, nil
	}
	return nil, fmt.Errorf("%w: all networks from 10.244.0.0/24 to 10.244.255.0/24 are in use", ErrUnfit)
}

func (n *Network) connect(ctx context.Context) error {
	for _, arguments := range [][]string{
		{"link", "add", n.outside(), "type", "veth", "peer", "name", n.inside()},
		{"link", "set", n.outside(), "alias", n.owner.String()},
		{"address", "add", fmt.Sprintf("%s/%d", n.Machine(), prefixLength), "dev", n.outside()},
		{"link", "set", n.outside(), "up"},
	} {
		if err := ip(ctx, arguments...); err != nil {
			return err
		}
	}
	return nil
}

// Release frees the addresses.
func (n *Network) Release(ctx context.Context) error { return removeInterface(ctx, n.outside()) }

// lockInterfaces prevents other processes that use this package from seeing incomplete interfaces. The kernel releases the
// lock when this process ends, in any way.
func lockInterfaces() (unlock func(), err error) {
	folder, err := os.Open(interfaceFolder)
	if err != nil {
		return nil, fmt.Errorf("lock the interfaces: %w", err)
	}
	if err := lock(folder); err != nil {
		return nil, errors.Join(fmt.Errorf("lock the interfaces: %w", err), folder.Close())
	}
	return func() { _ = folder.Close() }, nil
}

// removeAbandonedInterfaces removes our interfaces whose owners no longer exist, or ended before they recorded who they are.
func removeAbandonedInterfaces(ctx context.Context) error {
	entries, err := os.ReadDir(interfaceFolder)
	if err != nil {
		return fmt.Errorf("look for abandoned interfaces: %w", err)
	}
	var errs []error
	for _, entry := range entries {
		number, ours := strings.CutPrefix(entry.Name(), interfacePrefix)
		if _, err := strconv.Atoi(number); !ours || err != nil {
			continue
		}
		alias, _ := os.ReadFile(filepath.Join(interfaceFolder, entry.Name(), "ifalias")) // An empty alias means that the interface has no owner.
		if made, valid := parseOwner(strings.TrimSpace(string(alias))); !valid || !made.isRunning() {
			errs = append(errs, removeInterface(ctx, entry.Name()))
		}
	}
	return errors.Join(errs...)
}

// removeInterface also removes the other end. An interface that is already gone, for example because the node ended, is not an error.
func removeInterface(ctx context.Context, name string) error {
	err := ip(ctx, "link", "delete", name)
	if _, missing := os.Stat(filepath.Join(interfaceFolder, name)); errors.Is(missing, fs.ErrNotExist) {
		return nil
	}
	return err
}

func ip(ctx context.Context, arguments ...string) error {
	output, err := exec.CommandContext(ctx, "ip", arguments...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("ip %s: %w: %s", strings.Join(arguments, " "), err, strings.TrimSpace(string(output)))
	}
	return nil
}

// usedNetworks returns the networks to which this machine has a route, except for the default route.
func usedNetworks() ([]netip.Prefix, error) {
	content, err := os.ReadFile("/proc/net/route")
	if err != nil {
		return nil, fmt.Errorf("read the routes: %w", err)
	}
	return parseRoutes(string(content)), nil
}

// parseRoutes reads the second field, a destination, and the eighth, its mask, of each line but the first: numbers in the machine's byte
// order.
func parseRoutes(table string) []netip.Prefix {
	var result []netip.Prefix
	for line := range strings.Lines(table) {
		fields := strings.Fields(line)
		if len(fields) < 8 {
			continue
		}
		destination, destinationErr := parseHex(fields[1])
		mask, maskErr := parseHex(fields[7])
		if destinationErr != nil || maskErr != nil {
			continue
		}
		length, _ := net.IPMask(mask[:]).Size()
		if length > 0 {
			result = append(result, netip.PrefixFrom(netip.AddrFrom4(destination), length))
		}
	}
	return result
}

func parseHex(text string) (address [4]byte, err error) {
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) != len(address) {
		return address, fmt.Errorf("%q is no address", text)
	}
	binary.NativeEndian.PutUint32(address[:], binary.BigEndian.Uint32(raw))
	return address, nil
}

func overlaps(used []netip.Prefix, wanted netip.Prefix) bool {
	for _, each := range used {
		if each.Overlaps(wanted) {
			return true
		}
	}
	return false
}
