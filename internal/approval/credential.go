// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
)

const (
	// keyEntry is the entry of a Secret that holds the key of approvals.
	keyEntry = "hmac-key"
	// hookEntry is the entry that holds the key of webhooks. It is a separate entry, because some Git servers send it in plain text.
	hookEntry = "webhook-key"
	// minKey is the minimum length of keys for signatures over the path. The older scheme has no minimum.
	minKey = 32
)

// key is the key for signatures, and the name of the Secret that holds it. It never prints the key.
type key struct {
	secret string
	bytes  []byte
}

// Format keeps the key out of formatted output, for every verb.
func (key) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "key") }

// MarshalText keeps the key out of JSON and structured logs.
func (key) MarshalText() ([]byte, error) { return []byte("key"), nil }

// credential is the proof of a call: a signature, an older signature, a token, or nothing.
type credential struct {
	signature *signature
	older     *bodySignature
	body      []byte
	token     token
}

// credentialOf parses what can be checked without a key. body is nil where it is irrelevant.
func credentialOf(r *http.Request, body []byte, now time.Time) (credential, error) {
	switch {
	case r.Header.Get(inputHeader) != "" || r.Header.Get(signatureHeader) != "":
		s, err := parseSignature(r.Header)
		if err == nil {
			err = s.checkTime(now)
		}
		if err != nil {
			return credential{}, refused(err.Error())
		}
		return credential{signature: s}, nil
	case r.Header.Get(bodySignatureHeader) != "":
		older, err := parseBodySignature(r.Header)
		if err != nil {
			return credential{}, refused(err.Error())
		}
		return credential{older: older, body: body}, nil
	}
	return credential{}, nil
}

// check returns why the credential does not prove knowledge of the key; nil if it does.
func (c credential) check(k key, r *http.Request) error {
	switch {
	case c.signature != nil && len(k.bytes) < minKey:
		return refused(fmt.Sprintf("the entry %s of the Secret %s has %d bytes: use at least %d", keyEntry, k.secret, len(k.bytes), minKey))
	case c.signature != nil && c.signature.keyID != "" && c.signature.keyID != k.secret:
		return refused("the signature has another key than the Secret " + k.secret)
	case c.signature != nil && c.signature.madeWith(k.bytes, r.Method, r.URL.EscapedPath()):
		return nil
	case c.older != nil && c.older.madeWith(k.bytes, c.body):
		return nil
	}
	return refused("the signature is missing or was not made with the key of the Secret " + k.secret)
}

// readPipeline denies the call if the pipeline does not exist or is invisible to this server.
func (h *handler) readPipeline(ctx context.Context, name types.NamespacedName) (*pipelines.Pipeline, error) {
	var pipeline pipelines.Pipeline
	err := h.Client.Get(ctx, name, &pipeline)
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		return nil, refused(err.Error())
	}
	if err != nil {
		return nil, fmt.Errorf("read the pipeline: %w", err)
	}
	return &pipeline, nil
}

//espalier:rights pipelines
//	get secrets: keys that calls over HTTP are signed with

// readKey reads an entry of the Secret that a promotion names, without caching.
func (h *handler) readKey(ctx context.Context, namespace string, reference *pipelines.LocalObjectReference, entry string) (key, error) {
	if problems := validation.NameIsDNSSubdomain(reference.Name, false); len(problems) > 0 {
		return key{}, refused(fmt.Sprintf("%q is not a valid Secret name: %s", reference.Name, problems[0]))
	}
	var secret corev1.Secret
	err := h.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: reference.Name}, &secret)
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		return key{}, refused(err.Error())
	}
	if err != nil {
		return key{}, fmt.Errorf("read the Secret %s: %w", reference.Name, err)
	}
	k := key{secret: reference.Name, bytes: secret.Data[entry]}
	if len(k.bytes) == 0 {
		return key{}, refused(fmt.Sprintf("the Secret %s has no entry %s", reference.Name, entry))
	}
	return k, nil
}

// promotionInto returns the promotion block that applies to an environment: its own block replaces that of the pipeline completely. For a
// missing environment, the block of the pipeline applies.
func promotionInto(pipeline *pipelines.Pipeline, environment string) *pipelines.Promotion {
	i := slices.IndexFunc(pipeline.Spec.Environments, func(e pipelines.Environment) bool { return e.Name == environment })
	if i < 0 {
		return pipeline.Spec.Promotion
	}
	return pipeline.Spec.PromotionTo(pipeline.Spec.Environments[i])
}

func secretOf(promotion *pipelines.Promotion) *pipelines.LocalObjectReference {
	if promotion == nil {
		return nil
	}
	return promotion.Strategy.SecretRef
}
