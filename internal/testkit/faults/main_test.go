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

// world is a namespace seen from both sides: through a faulty connection, and directly.
type world struct {
	*testkit.World
	transport *faults.Transport
	faulty    client.WithWatch
}

func newWorld(t *testing.T, plan string) *world {
	t.Helper()
	w := &world{World: testkit.NewWorld(t), transport: faults.New(faults.MustParse(plan))}
	var err error
	w.faulty, err = client.NewWithWatch(w.transport.Config(w.Config()), client.Options{Mapper: w.Client().RESTMapper()})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name}}
}

// stored reports whether the server has the config map.
func (w *world) stored(name string) bool {
	w.Helper()
	return w.Read(w.configMap(name))
}

// write stores the config map with the given value over the real connection.
func (w *world) write(name, value string) {
	w.Helper()
	object := w.configMap(name)
	exists := w.Read(object)
	object.Data = map[string]string{"value": value}
	if !exists {
		w.Create(object)
		return
	}
	if err := w.Client().Update(w.Context(), object); err != nil {
		w.Fatal(err)
	}
}

func (w *world) delete(name string) {
	w.Helper()
	w.Delete(w.configMap(name))
}
