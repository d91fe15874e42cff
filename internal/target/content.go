// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/failure"
)

// Content returns the content of a Target of any type, from its configuration or from the Secret it refers to. It is nil if the
// Target has neither. A reference to a Secret without a key stands for an object with all its keys, whose values are YAML or text.
func (c *Clusters) Content(ctx context.Context, t *lsv1alpha1.Target) ([]byte, error) {
	content, err := c.content(ctx, t)
	if err != nil {
		return nil, fmt.Errorf("target %s/%s: %w", t.Namespace, t.Name, err)
	}
	return content, nil
}

func (c *Clusters) content(ctx context.Context, t *lsv1alpha1.Target) ([]byte, error) {
	reference, configuration := t.Spec.SecretRef, t.Spec.Configuration
	hasConfiguration := configuration != nil && !configuration.IsNull()
	switch {
	case reference != nil && hasConfiguration:
		return nil, invalid("spec has both config and secretRef: keep only one")
	case reference != nil:
		return c.secretContent(ctx, t.Namespace, *reference)
	case hasConfiguration:
		return configuration.Raw, nil
	}
	return nil, nil
}

//espalier:rights deployer-manifest,deployer-helm,deployer-container
//	get secrets: kubeconfigs of Targets

func (c *Clusters) secretContent(ctx context.Context, namespace string, reference lsv1alpha1.LocalSecretReference) ([]byte, error) {
	if reference.Name == "" {
		return nil, invalid("spec.secretRef.name is missing: set it")
	}
	if c.options.Host == nil {
		return nil, invalid("this process does not read Secrets: put the content into spec.config")
	}
	secret := &corev1.Secret{}
	err := c.options.Host.Get(ctx, client.ObjectKey{Namespace: namespace, Name: reference.Name}, secret)
	if apierrors.IsNotFound(err) {
		return nil, missing(ReasonSecretMissing, "the Secret %s/%s of spec.secretRef does not exist: create it", namespace, reference.Name)
	}
	if err != nil {
		return nil, failure.NewRetryable(
			failure.Details{Operation: operationResolve},
			fmt.Errorf("read the Secret %s/%s: %w", namespace, reference.Name, err),
		)
	}
	if reference.Key == "" {
		return allKeys(secret.Data)
	}
	content, ok := secret.Data[reference.Key]
	if !ok {
		return nil, missing(
			ReasonSecretMissing,
			"the Secret %s/%s of spec.secretRef has no key %q: add it",
			namespace,
			reference.Name,
			reference.Key,
		)
	}
	return content, nil
}

func allKeys(data map[string][]byte) ([]byte, error) {
	object := map[string]json.RawMessage{}
	for key, value := range data {
		text, err := yaml.YAMLToJSONStrict(value)
		if err != nil {
			if text, err = json.Marshal(string(value)); err != nil {
				return nil, invalid("the key %q of the Secret is not a text", key)
			}
		}
		object[key] = text
	}
	content, err := json.Marshal(object)
	if err != nil {
		return nil, invalid("the keys of the Secret cannot be combined")
	}
	return content, nil
}
