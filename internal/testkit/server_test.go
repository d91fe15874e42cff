// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package testkit_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"espalier.dev/internal/testkit"
)

func TestServerIsSharedAndServes(t *testing.T) {
	server := testkit.Server(t)
	if again := testkit.Server(t); again != server {
		t.Error("a second call started a second server")
	}
	namespace := server.Namespace(t)
	written := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "a"}, Data: map[string]string{"key": "value"}}
	if err := server.Client().Create(t.Context(), written); err != nil {
		t.Fatal(err)
	}
	var read corev1.ConfigMap
	if err := server.Client().Get(t.Context(), client.ObjectKeyFromObject(written), &read); err != nil {
		t.Fatal(err)
	}
	if read.Data["key"] != "value" || read.UID == "" {
		t.Errorf("read back %v with UID %q", read.Data, read.UID)
	}
}
