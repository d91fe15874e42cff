// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"
)

// serviceAddress is the address of the API server for pods: the first one of serviceIPs.
var serviceAddress = net.IPv4(10, 0, 0, 1)

// forNode configures the API server for running pods: they get service accounts with tokens, and reach the API server at its address on the
// network of the node. It reaches the kubelet there and, for webhooks and aggregated APIs, the pods themselves.
func forNode(o *options.ServerRunOptions, config apiServerConfig) {
	o.Admission.GenericAdmission.DisablePlugins = nil
	o.Admission.GenericAdmission.EnablePlugins = []string{"NodeRestriction"}
	o.Authorization.Modes = []string{"Node", "RBAC"}
	o.EndpointReconcilerType = "lease"
	o.GenericServerRunOptions.AdvertiseAddress = config.nodeAddress
	o.EnableAggregatorRouting = true
	o.KubeletConfig.PreferredAddressTypes = []string{"InternalIP"}
	o.KubeletConfig.TLSClientConfig.CertFile = config.keys.adminCertFile
	o.KubeletConfig.TLSClientConfig.KeyFile = config.keys.adminKeyFile
	o.KubeletConfig.TLSClientConfig.CAFile = config.keys.caFile
}

// NodeURL returns the URL of the API server as seen from the node.
func (cp *ControlPlane) NodeURL() string {
	return "https://" + net.JoinHostPort(cp.nodeAddress.String(), strconv.Itoa(cp.access.port()))
}

// Certificate returns the certificate and key of that name, issued by the authority of the control plane. It is for clients and, if there
// are addresses, for a server at those.
func (cp *ControlPlane) Certificate(name string, subject pkix.Name, addresses ...net.IP) (certificate, key []byte, err error) {
	k := keyring{dir: cp.dir.path(keyFolder), now: time.Now()}
	ca, err := k.authority()
	if err != nil {
		return nil, nil, err
	}
	template := x509.Certificate{Subject: subject, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, IPAddresses: addresses}
	if len(addresses) > 0 {
		template.ExtKeyUsage = append(template.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
	}
	pair, err := k.leaf(ca, name, template)
	return pair.certPEM, pair.keyPEM, err
}

// NodeKubeconfig returns a kubeconfig with which the holder of a certificate connects from the node.
func (cp *ControlPlane) NodeKubeconfig(certificate, key []byte) ([]byte, error) {
	keys := cp.access.keys
	keys.adminCert, keys.adminKey = certificate, key
	seen := access{name: cp.access.name, address: net.JoinHostPort(cp.nodeAddress.String(), strconv.Itoa(cp.access.port())), keys: keys}
	return seen.kubeconfig()
}

// AdminCertificate returns the certificate and key of the administrator.
func (cp *ControlPlane) AdminCertificate() (certificate, key []byte) {
	return cp.access.keys.adminCert, cp.access.keys.adminKey
}

// Authority returns the certificate of the authority that signs all others.
func (cp *ControlPlane) Authority() []byte { return cp.access.keys.ca }

// ServiceAccountKeyFile returns the file with the key that signs tokens of service accounts.
func (cp *ControlPlane) ServiceAccountKeyFile() string { return cp.access.keys.serviceAccountKeyFile }

// both listens like the first listener and accepts connections from either.
type both struct {
	net.Listener
	other    net.Listener
	accepted chan accepted
	closed   chan struct{}
	close    sync.Once
}

type accepted struct {
	connection net.Conn
	err        error
}

// listenOnBoth opens the port of the first listener on a second address, too.
func listenOnBoth(first net.Listener, address net.IP) (net.Listener, error) {
	port := first.Addr().(*net.TCPAddr).Port
	other, err := net.Listen("tcp", net.JoinHostPort(address.String(), strconv.Itoa(port)))
	if err != nil {
		return nil, fmt.Errorf("listen for the node: %w", err)
	}
	b := &both{Listener: first, other: other, accepted: make(chan accepted), closed: make(chan struct{})}
	for _, listener := range []net.Listener{first, other} {
		go b.acceptFrom(listener)
	}
	return b, nil
}

// acceptFrom ends when its listener is closed.
func (b *both) acceptFrom(listener net.Listener) {
	for {
		connection, err := listener.Accept()
		select {
		case b.accepted <- accepted{connection, err}:
		case <-b.closed:
			if connection != nil {
				_ = connection.Close()
			}
			return
		}
		if errors.Is(err, net.ErrClosed) {
			return
		}
	}
}

func (b *both) Accept() (net.Conn, error) {
	select {
	case next := <-b.accepted:
		return next.connection, next.err
	case <-b.closed:
		return nil, net.ErrClosed
	}
}

func (b *both) Close() error {
	err := net.ErrClosed
	b.close.Do(func() {
		close(b.closed)
		err = errors.Join(b.Listener.Close(), b.other.Close())
	})
	return err
}
