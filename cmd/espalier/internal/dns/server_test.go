// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package dns

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"espalier.dev/cmd/espalier/internal/controlplane"
)

// patience limits the waits of a broken test.
const patience = 6 * time.Minute

// world is a real API server with a name server beside it.
type world struct {
	client  kubernetes.Interface
	address string
}

func newWorld(t *testing.T) world {
	t.Helper()
	cp, err := controlplane.Start(t.Context(), controlplane.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cp.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	client, err := kubernetes.NewForConfig(cp.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	packets, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	connections, err := net.Listen("tcp", packets.LocalAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() {
		served <- Serve(ctx, client, Listeners{Packets: packets, Connections: connections}, "cluster.local")
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return world{client: client, address: packets.LocalAddr().String()}
}

// resolver asks over the given network alone.
func (w world) resolver(network string) *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var dialer net.Dialer
		return dialer.DialContext(ctx, network, w.address)
	}}
}

func (w world) service(t *testing.T, service corev1.Service) {
	t.Helper()
	if _, err := w.client.CoreV1().Services("default").Create(t.Context(), &service, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func (w world) endpoints(t *testing.T, service string, endpoints ...discoveryv1.Endpoint) {
	t.Helper()
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: service, Labels: map[string]string{discoveryv1.LabelServiceName: service}},
		AddressType: discoveryv1.AddressTypeIPv4, Endpoints: endpoints,
	}
	if _, err := w.client.DiscoveryV1().EndpointSlices("default").Create(t.Context(), slice, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// lookup waits until the name has these addresses.
func (w world) lookup(t *testing.T, network, name string, want ...string) {
	t.Helper()
	var found []string
	err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		found, _ = w.resolver(network).LookupHost(ctx, name)
		slices.Sort(found)
		return slices.Equal(found, want), nil
	})
	if err != nil {
		t.Errorf("%s over %s has the addresses %v, want %v", name, network, found, want)
	}
}

func TestNamesOfServices(t *testing.T) {
	w := newWorld(t)
	port := []corev1.ServicePort{{Name: "web", Port: 80, Protocol: corev1.ProtocolTCP}}
	w.service(t, corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "plain"}, Spec: corev1.ServiceSpec{Ports: port, ClusterIP: "10.0.3.3"}})
	w.service(t, corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "headless"}, Spec: corev1.ServiceSpec{Ports: port, ClusterIP: "None"}})
	w.service(t, corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "crowd"}, Spec: corev1.ServiceSpec{Ports: port, ClusterIP: "None"}})
	w.service(t, corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "alias"},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "plain.default.svc.cluster.local"},
	})
	first, ready, not := "first", true, false
	w.endpoints(t, "headless",
		discoveryv1.Endpoint{Addresses: []string{"10.1.0.1"}, Hostname: &first, Conditions: discoveryv1.EndpointConditions{Ready: &ready}},
		discoveryv1.Endpoint{Addresses: []string{"10.1.0.2"}},
		discoveryv1.Endpoint{Addresses: []string{"10.1.0.3"}, Conditions: discoveryv1.EndpointConditions{Ready: &not}},
	)
	var many []discoveryv1.Endpoint
	var all []string
	for i := range 100 {
		address := fmt.Sprintf("10.2.0.%d", i+1)
		all = append(all, address)
		many = append(many, discoveryv1.Endpoint{Addresses: []string{address}})
	}
	slices.Sort(all)
	w.endpoints(t, "crowd", many...)

	for _, network := range []string{"udp", "tcp"} {
		w.lookup(t, network, "plain.default.svc.cluster.local.", "10.0.3.3")
		w.lookup(t, network, "PLAIN.default.svc.Cluster.Local.", "10.0.3.3")
		w.lookup(t, network, "alias.default.svc.cluster.local.", "10.0.3.3")
		w.lookup(t, network, "headless.default.svc.cluster.local.", "10.1.0.1", "10.1.0.2")
		w.lookup(t, network, "first.headless.default.svc.cluster.local.", "10.1.0.1")
		w.lookup(t, network, "kubernetes.default.svc.cluster.local.", "10.0.0.1")
	}
	t.Run("too many for a packet come over a connection", func(t *testing.T) {
		w.lookup(t, "tcp", "crowd.default.svc.cluster.local.", all...)
		free := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
			var dialer net.Dialer
			return dialer.DialContext(ctx, network, w.address)
		}}
		found, err := free.LookupHost(t.Context(), "crowd.default.svc.cluster.local.")
		if err != nil || len(found) != len(all) {
			t.Errorf("found %d addresses, want %d: %v", len(found), len(all), err)
		}
	})
	t.Run("ports", func(t *testing.T) {
		_, found, err := w.resolver("udp").LookupSRV(t.Context(), "web", "tcp", "plain.default.svc.cluster.local.")
		if err != nil || len(found) != 1 || found[0].Port != 80 || found[0].Target != "plain.default.svc.cluster.local." {
			t.Errorf("found %v, %v", found, err)
		}
		_, found, err = w.resolver("udp").LookupSRV(t.Context(), "web", "tcp", "headless.default.svc.cluster.local.")
		if err != nil || len(found) != 1 || found[0].Target != "first.headless.default.svc.cluster.local." {
			t.Errorf("found %v, %v", found, err)
		}
	})
	t.Run("names that nobody has", func(t *testing.T) {
		for _, name := range []string{
			"nobody.default.svc.cluster.local.", "plain.elsewhere.svc.cluster.local.", "nobody.headless.default.svc.cluster.local.",
			"elsewhere.svc.cluster.local.", "plain.default.pod.cluster.local.", "a.b.c.plain.default.svc.cluster.local.",
		} {
			var problem *net.DNSError
			if _, err := w.resolver("udp").LookupHost(t.Context(), name); !errors.As(err, &problem) || !problem.IsNotFound {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
	t.Run("names of others", func(t *testing.T) {
		if found, err := w.resolver("tcp").LookupHost(t.Context(), "espalier.example."); err == nil {
			t.Errorf("found %v", found)
		}
	})
}

// The server survives any input.
func TestNonsenseIsIgnored(t *testing.T) {
	w := newWorld(t)
	connection, err := net.Dial("udp", w.address)
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	for _, packet := range [][]byte{{}, {1}, make([]byte, 12), slices.Repeat([]byte{0xff}, 600), append(make([]byte, 5), 1, 0, 0, 0, 0, 0, 0, 192)} {
		if _, err := connection.Write(packet); err != nil {
			t.Fatal(err)
		}
	}
	w.lookup(t, "udp", "kubernetes.default.svc.cluster.local.", "10.0.0.1")
}
