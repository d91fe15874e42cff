// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"crypto/hmac"
	"encoding/json"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/dataflow"
)

// SealAnnotation proves that the inline blueprint of a nested installation was part of a blueprint with a verified signature, or was
// rendered by one. A label or an owner proves nothing, because every user who may write installations can set them.
const SealAnnotation = "espalier.dev/verified-blueprint"

// Sealed reports whether the inline blueprint of an installation is the one that its parent rendered after verifying its own signature.
func Sealed(hasher dataflow.Hasher, inst *lsv1alpha1.Installation) bool {
	seal := sealOf(hasher, inst)
	return seal != nil && hmac.Equal(seal, []byte(inst.Annotations[SealAnnotation]))
}

// sealOf returns the seal, nil if there is no inline blueprint. A seal is valid for one name in one namespace: other namespaces may trust
// other keys.
func sealOf(hasher dataflow.Hasher, inst *lsv1alpha1.Installation) []byte {
	inline := inst.Spec.Blueprint.Inline
	if inline == nil {
		return nil
	}
	// The API server returns JSON in a different form.
	var files any
	if err := json.Unmarshal(inline.Filesystem.Raw, &files); err != nil {
		return nil
	}
	text, err := json.Marshal([]any{inst.Namespace, inst.Name, files})
	if err != nil {
		return nil
	}
	return hasher.Seed(SealAnnotation + " " + string(text))
}
