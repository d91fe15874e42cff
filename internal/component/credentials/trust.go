// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"errors"
	"fmt"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/component/signature"
)

// TrustOf reads the trusted keys or certificates for signatures with a name from a Context. Errors name the field of the Context.
func TrustOf(c *lsv1alpha1.Context, name string, contents Contents) (signature.Trust, error) {
	field := "verificationSignatures." + name
	trusted, found := c.VerificationSignatures[name]
	if !found {
		return signature.Trust{}, fmt.Errorf("%s is missing, which the installation requires: set it to the keys or certificates to trust", field)
	}
	trust, err := trustOf(c, trusted, contents)
	if err != nil {
		return signature.Trust{}, fmt.Errorf("%s.%w", field, err)
	}
	return trust, nil
}

func trustOf(c *lsv1alpha1.Context, trusted lsv1alpha1.VerificationSignature, contents Contents) (trust signature.Trust, err error) {
	if trusted.PublicKeySecretReference == nil && trusted.CACertificateSecretReference == nil {
		return trust, errors.New("publicKeySecretReference: set it, or caCertificateSecretReference")
	}
	if trust.PublicKey, err = pem(c, trusted.PublicKeySecretReference, contents); err != nil {
		return trust, fmt.Errorf("publicKeySecretReference: %w", err)
	}
	if trust.CA, err = pem(c, trusted.CACertificateSecretReference, contents); err != nil {
		return trust, fmt.Errorf("caCertificateSecretReference: %w", err)
	}
	return trust, nil
}

// pem reads a key of a Secret, which must be in the namespace of the Context: one in another namespace may not be used.
func pem(c *lsv1alpha1.Context, at *lsv1alpha1.SecretReference, contents Contents) ([]byte, error) {
	switch {
	case at == nil:
		return nil, nil
	case at.Namespace != "" && at.Namespace != c.Namespace:
		return nil, fmt.Errorf("the Secret is in namespace %s, but only those of namespace %s may be used: copy it", at.Namespace, c.Namespace)
	case at.Key == "":
		return nil, fmt.Errorf("key is empty: set the key of Secret %s that contains the PEM text", at.Name)
	}
	data, err := contents(KindSecret, at.Name)
	if err != nil {
		return nil, err
	}
	text, exists := data[at.Key]
	if !exists {
		return nil, fmt.Errorf("there is no Secret %s/%s with a key %s: create it", c.Namespace, at.Name, at.Key)
	}
	return text, nil
}
