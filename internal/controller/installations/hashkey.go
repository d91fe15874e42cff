// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installations

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/tenancy"
)

// HashKeySecret is the Secret with the key for the hashes of imports in statuses. All replicas use the same key, also after a restart:
// with another key, the imports of a running job would seem to have changed.
const HashKeySecret = "espalier-imports-hash-key"

const hashKeyField = "key"

// hashKey provides the hasher, and creates the key when it is first needed.
type hashKey struct {
	cluster   client.Client
	live      client.Reader
	namespace string

	mu     sync.Mutex
	hasher *dataflow.Hasher
}

func (h *hashKey) get(ctx context.Context) (dataflow.Hasher, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.hasher != nil {
		return *h.hasher, nil
	}
	key, err := h.load(ctx)
	if err != nil {
		return dataflow.Hasher{}, err
	}
	hasher, err := dataflow.NewHasher(key)
	if err != nil {
		return dataflow.Hasher{}, fmt.Errorf(
			"%s %s/%s: key %q: %w; delete the Secret, and a new one is created",
			kindSecret,
			h.namespace,
			HashKeySecret,
			hashKeyField,
			err,
		)
	}
	h.hasher = &hasher
	return hasher, nil
}

//espalier:rights installations
//	get,create secrets: the key for hashes of imports, in the namespace of the controllers

func (h *hashKey) load(ctx context.Context) ([]byte, error) {
	var secret corev1.Secret
	at := client.ObjectKey{Namespace: h.namespace, Name: HashKeySecret}
	ctx = tenancy.Own(ctx)
	err := h.live.Get(ctx, at, &secret)
	if apierrors.IsNotFound(err) {
		if err = h.create(ctx); apierrors.IsAlreadyExists(err) || err == nil {
			err = h.live.Get(ctx, at, &secret)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("get the key for hashes from Secret %s/%s: %w", h.namespace, HashKeySecret, err)
	}
	return secret.Data[hashKeyField], nil
}

func (h *hashKey) create(ctx context.Context) error {
	key := make([]byte, dataflow.MinHashKey)
	// Read never fails, according to the documentation of the package.
	_, _ = rand.Read(key)
	immutable := true
	return h.cluster.Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: h.namespace, Name: HashKeySecret},
		Data:       map[string][]byte{hashKeyField: key},
		Immutable:  &immutable,
	})
}
