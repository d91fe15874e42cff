// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/faults"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// world is a namespace seen from both sides: through a faulty connection, and as it really is.
type world struct {
	transport *faults.Transport
	faulty    client.WithWatch
	real      client.WithWatch
	namespace string
}

func newWorld(t *testing.T, plan string) *world {
	t.Helper()
	server := testkit.Server(t)
	transport := faults.New(faults.MustParse(plan))
	faulty, err := client.NewWithWatch(transport.Config(server.Config()), client.Options{Mapper: server.Client().RESTMapper()})
	if err != nil {
		t.Fatal(err)
	}
	return &world{transport: transport, faulty: faulty, real: server.Client(), namespace: server.Namespace(t)}
}

func (w *world) configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}}
}

// stored reports whether the server has the config map.
func (w *world) stored(t *testing.T, name string) bool {
	t.Helper()
	err := w.real.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, &corev1.ConfigMap{})
	if client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	return err == nil
}

// write stores the config map with the given value over the real connection.
func (w *world) write(t *testing.T, name, value string) {
	t.Helper()
	object := w.configMap(name)
	err := w.real.Get(t.Context(), client.ObjectKeyFromObject(object), object)
	object.Data = map[string]string{"value": value}
	switch {
	case err == nil:
		err = w.real.Update(t.Context(), object)
	case client.IgnoreNotFound(err) == nil:
		err = w.real.Create(t.Context(), object)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (w *world) delete(t *testing.T, name string) {
	t.Helper()
	if err := w.real.Delete(t.Context(), w.configMap(name)); err != nil {
		t.Fatal(err)
	}
}
