// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const namespaceStem = 45 // characters of the test's name in a namespace's, which has room for 63

var (
	namespaces atomic.Int64
	process    = strconv.FormatInt(int64(os.Getpid()), 36) // Tests of other packages may use the same server.
)

// Namespace creates a namespace for this test and returns its name, which begins with the test's. It is not deleted: the server is
// short-lived, and the leftovers of a failing test can still be inspected.
func (s *APIServer) Namespace(t testing.TB) string {
	t.Helper()
	name := namespaceName(t.Name(), namespaces.Add(1))
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := s.Client().Create(t.Context(), namespace); err != nil {
		t.Fatalf("create namespace %s: %v", name, err)
	}
	return name
}

func namespaceName(test string, number int64) string {
	allowed := func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}
	stem := strings.Map(allowed, strings.ToLower(test))
	stem = strings.TrimLeft(stem[:min(len(stem), namespaceStem)], "-")
	return stem + "-" + process + "-" + strconv.FormatInt(number, 10)
}
