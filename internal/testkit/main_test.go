// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package testkit_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"espalier.dev/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m, addSapling) }

// Sapling is a kind that only these tests have. In version v1 it has a Go type.
type Sapling struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Height int `json:"height"`
}

// DeepCopyObject implements runtime.Object.
func (s *Sapling) DeepCopyObject() runtime.Object {
	copied := *s
	copied.ObjectMeta = *s.ObjectMeta.DeepCopy()
	return &copied
}

func addSapling(scheme *runtime.Scheme) error {
	version := schema.GroupVersion{Group: "testkit.example.org", Version: "v1"}
	scheme.AddKnownTypes(version, &Sapling{})
	metav1.AddToGroupVersion(scheme, version)
	return nil
}
