// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package invariant

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"espalier.dev/internal/testkit"
)

func decode(content []byte, into any) bool { return json.Unmarshal(content, into) == nil }

func idOf(content []byte) (testkit.ObjectID, bool) {
	object := &unstructured.Unstructured{}
	if !decode(content, &object.Object) {
		return testkit.ObjectID{}, false
	}
	return testkit.ObjectID{Kind: object.GetKind(), Namespace: object.GetNamespace(), Name: object.GetName()}, true
}
