// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/component/signature"
)

func TestTrustOf(t *testing.T) {
	at := func(namespace, name, key string) *lsv1alpha1.SecretReference {
		return &lsv1alpha1.SecretReference{ObjectReference: lsv1alpha1.ObjectReference{Namespace: namespace, Name: name}, Key: key}
	}
	contents := func(kind, name string) (map[string][]byte, error) {
		switch kind + "/" + name {
		case "Secret/keys":
			return map[string][]byte{"pem": []byte("a key"), "ca": []byte("an authority")}, nil
		case "Secret/broken":
			return nil, errors.New("the server is away")
		}
		return nil, nil
	}
	for name, test := range map[string]struct {
		trusted lsv1alpha1.VerificationSignature
		want    signature.Trust
		err     string
	}{
		"a key":          {trusted: lsv1alpha1.VerificationSignature{PublicKeySecretReference: at("", "keys", "pem")}, want: signature.Trust{PublicKey: []byte("a key")}},
		"an authority":   {trusted: lsv1alpha1.VerificationSignature{CACertificateSecretReference: at("ns", "keys", "ca")}, want: signature.Trust{CA: []byte("an authority")}},
		"nothing":        {err: "verificationSignatures.release.publicKeySecretReference: set it, or caCertificateSecretReference"},
		"no Secret":      {trusted: lsv1alpha1.VerificationSignature{PublicKeySecretReference: at("", "none", "pem")}, err: "publicKeySecretReference: there is no Secret ns/none with a key pem: create it"},
		"no such key":    {trusted: lsv1alpha1.VerificationSignature{CACertificateSecretReference: at("", "keys", "x")}, err: "caCertificateSecretReference: there is no Secret ns/keys with a key x"},
		"no key named":   {trusted: lsv1alpha1.VerificationSignature{PublicKeySecretReference: at("", "keys", "")}, err: "publicKeySecretReference: key is empty"},
		"of others":      {trusted: lsv1alpha1.VerificationSignature{PublicKeySecretReference: at("other", "keys", "pem")}, err: "the Secret is in namespace other, but only those of namespace ns may be used"},
		"cannot be read": {trusted: lsv1alpha1.VerificationSignature{PublicKeySecretReference: at("", "broken", "pem")}, err: "the server is away"},
	} {
		c := &lsv1alpha1.Context{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "default"}}
		c.VerificationSignatures = map[string]lsv1alpha1.VerificationSignature{"release": test.trusted}
		got, err := TrustOf(c, "release", contents)
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := TrustOf(&lsv1alpha1.Context{}, "beta", contents); err == nil || !strings.Contains(err.Error(), "verificationSignatures.beta is missing") {
		t.Errorf("an unknown signature: %v", err)
	}
}
