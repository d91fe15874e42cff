// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package targetsync

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
)

// pair is the desired state of a Target with its Secret.
type pair struct {
	// secret is nil if the Target uses the Secret of the source, or one with credentials that must be requested.
	secret *Content
	shoot  bool
	spec   lsv1alpha1.TargetSpec
}

// wanted returns the desired pairs, by name, and the errors that block others.
func wanted(o Observed) (map[string]*pair, []error) {
	pairs := map[string]*pair{}
	var problems []error
	for _, name := range slices.Sorted(maps.Keys(o.Source.Secrets)) {
		content := o.Source.Secrets[name]
		pairs[name] = &pair{secret: &content, spec: clusterAt(lsv1alpha1.LocalSecretReference{Name: name, Key: KubeconfigKey})}
	}
	for _, name := range o.Source.Shoots {
		pairs[name] = &pair{shoot: true, spec: clusterAt(lsv1alpha1.LocalSecretReference{Name: name, Key: KubeconfigKey})}
	}
	if o.Spec.CreateTargetToSource {
		name := sourceTarget(o.Spec)
		if pairs[name] != nil {
			problems = append(problems, obstacle(ReasonNotOurs, fmt.Errorf(
				"the Target of the source would have the same name, %s, as that of one of its clusters: set spec.targetToSourceName to another name", name)))
		} else {
			reference := lsv1alpha1.LocalSecretReference{Name: o.Spec.SecretRef.Name, Key: CredentialKey(o.Spec)}
			pairs[name] = &pair{spec: clusterAt(reference)}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(pairs)) {
		if err := inTheWay(o, name, pairs[name]); err != nil {
			problems = append(problems, err)
			delete(pairs, name)
		}
	}
	return pairs, problems
}

// inTheWay returns why a pair cannot be written.
func inTheWay(o Observed, name string, p *pair) error {
	ownSecret := p.shoot || p.secret != nil
	existing, exists := o.Targets[name]
	switch {
	case len(validation.IsDNS1123Subdomain(name)) > 0:
		return obstacle(ReasonFailed, fmt.Errorf("%q is not a valid Target name", name))
	case ownSecret && name == o.Spec.SecretRef.Name:
		return obstacle(ReasonNotOurs, fmt.Errorf(
			"the source has a Secret or shoot %s, which is the name of the Secret in spec.secretRef: give that Secret another name", name))
	case exists && !existing.Ours:
		return NotOurs("Target", name)
	}
	return nil
}

func clusterAt(secret lsv1alpha1.LocalSecretReference) lsv1alpha1.TargetSpec {
	return lsv1alpha1.TargetSpec{Type: lsv1alpha1.TargetTypeKubernetesCluster, SecretRef: &secret}
}

// writes returns the writes for all pairs. A Target is written after its Secret, so that it works as soon as it exists.
func writes(o Observed, pairs map[string]*pair) []Effect {
	var do []Effect
	for _, name := range slices.Sorted(maps.Keys(pairs)) {
		if o.Failed[name] != nil {
			continue
		}
		if effect := pairs[name].write(o, name); effect != nil {
			do = append(do, effect)
		}
	}
	return do
}

// write returns the next write for a pair; nil if there is none.
func (p *pair) write(o Observed, name string) Effect {
	existing := o.Secrets[name] // if there is none, this is zero
	switch {
	case p.shoot && (existing.By != o.Name || due(o, existing, o.Targets[name])):
		return RenewShoot{Name: name, Existing: existing}
	case p.secret != nil && (existing.By != o.Name || !p.secret.in(existing)):
		return WriteSecret{Name: name, Content: *p.secret, Existing: existing}
	}
	return p.writeTarget(o, name, existing)
}

// writeTarget returns the write of the Target, unless it is up to date.
func (p *pair) writeTarget(o Observed, name string, secret Secret) Effect {
	synced := time.Time{}
	if p.shoot {
		synced = secret.Synced
	}
	target, exists := o.Targets[name]
	if exists && target.By == o.Name && target.Synced.Equal(synced) && equality.Semantic.DeepEqual(target.Spec, p.spec) {
		return nil
	}
	return WriteTarget{Name: name, Spec: p.spec, Synced: synced, Exists: exists}
}

// due reports whether the credentials of a shoot must be renewed: they are too old, or their time is impossible.
func due(o Observed, secret Secret, target Target) bool {
	synced := secret.Synced
	if synced.IsZero() {
		synced = target.Synced
	}
	age := o.Now.Sub(synced)
	return len(secret.Data[KubeconfigKey]) == 0 || age > RenewAfter || age < -RenewAfter
}

// in reports whether a Secret has the content.
func (c Content) in(secret Secret) bool {
	return CopyType(c.Type) == secret.Type && maps.EqualFunc(c.Data, secret.Data, bytes.Equal)
}

// tokenType is the type of Secrets that a controller of Kubernetes fills, and deletes if their service account is missing.
const tokenType = "kubernetes.io/service-account-token"

// CopyType returns the type of a copy of a Secret.
func CopyType(original string) string {
	if original == tokenType || original == "" {
		return "Opaque"
	}
	return original
}
