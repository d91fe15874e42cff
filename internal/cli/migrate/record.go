// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"espalier.dev/internal/cli"
	"espalier.dev/internal/definitions"
	buildversion "espalier.dev/internal/version"
)

// Keys of the ConfigMap.
const (
	stateKey         = "state.json"
	definitionPrefix = "definition."
	webhookPrefix    = "webhook."
	keySuffix        = ".json"
)

// largestRecord is what a ConfigMap can hold.
const largestRecord = 1 << 20

const nothingToDo = "nothing to do"

// lastApplied is what kubectl remembers. It stays where it is: the definitions of Espalier are applied without it.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// record is what was there before a take-over. It is one ConfigMap, and holds no Secret and nothing of the objects of users.
type record struct {
	State state
	// Objects are definitions and webhooks as they were, as JSON, by key.
	Objects map[string]string
	// stored is the ConfigMap; nil if there is none yet.
	stored *corev1.ConfigMap
}

// state is the part of the record that is no object.
type state struct {
	System string `json:"system"`
	// Version is that of the Espalier that has taken over.
	Version     string               `json:"version"`
	Deployments []recordedDeployment `json:"deployments"`
	// Created are CRDs that did not exist before.
	Created []string `json:"created"`
	// Finished says that all steps were done.
	Finished bool `json:"finished"`
}

// recordedDeployment says how many replicas a Deployment had.
type recordedDeployment struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Replicas  int32  `json:"replicas"`
}

func (r recordedDeployment) is(deployment *appsv1.Deployment) bool {
	return r.Namespace == deployment.Namespace && r.Name == deployment.Name
}

// keys lists those with a prefix, sorted.
func (r *record) keys(prefix string) []string {
	var found []string
	for _, key := range slices.Sorted(maps.Keys(r.Objects)) {
		if strings.HasPrefix(key, prefix) {
			found = append(found, key)
		}
	}
	return found
}

// definition is one as it was; nil if none was recorded.
func (r *record) definition(name string) (*apiextensionsv1.CustomResourceDefinition, error) {
	text, found := r.Objects[definitionPrefix+name+keySuffix]
	if !found {
		return nil, nil
	}
	definition := &apiextensionsv1.CustomResourceDefinition{}
	if err := json.Unmarshal([]byte(text), definition); err != nil {
		return nil, fmt.Errorf("the record of CRD %s is damaged: %w", name, err)
	}
	return definition, nil
}

// readRecord returns nil if nothing was taken over.
func (m *migration) readRecord(ctx context.Context) (*record, error) {
	stored := &corev1.ConfigMap{}
	err := m.client.Get(ctx, client.ObjectKey{Namespace: m.home, Name: m.system.recordName()}, stored)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, m.access.Explain(err, "read ConfigMap "+m.system.recordName(), m.home)
	}
	r := &record{Objects: maps.Clone(stored.Data), stored: stored}
	if err := json.Unmarshal([]byte(stored.Data[stateKey]), &r.State); err != nil || r.State.System != m.system.name {
		return nil, m.damaged(stateKey)
	}
	delete(r.Objects, stateKey)
	for _, key := range r.keys("") {
		if !m.isSound(r, key) {
			return nil, m.damaged(key)
		}
	}
	return r, nil
}

// isSound prevents anyone who can write the record from bringing anything but CRDs and webhooks of the system into the cluster.
func (m *migration) isSound(r *record, key string) bool {
	if name, isDefinition := strings.CutPrefix(key, definitionPrefix); isDefinition {
		name = strings.TrimSuffix(name, keySuffix)
		recorded, err := r.definition(name)
		return err == nil && recorded != nil && recorded.Name == name && m.own[name] != nil && m.system.owns(recorded.Spec.Group)
	}
	for _, kind := range []string{validating, mutating} {
		if strings.HasPrefix(key, webhookPrefix+kind+".") {
			object, err := unpackWebhook(kind, r.Objects[key])
			return err == nil && m.describe(kind, object).own
		}
	}
	return false
}

func (m *migration) damaged(key string) error {
	return &cli.Problem{
		Code: cli.ExitError, What: fmt.Sprintf("ConfigMap %s/%s is damaged: key %s cannot be read", m.home, m.system.recordName(), key),
		Where: m.access.Where(m.home), Next: []string{"restore the ConfigMap from a backup"},
	}
}

// remember records what exists and is not ours. What an earlier run has replaced already is in the record, and stays there.
func (m *migration) remember(ctx context.Context) error {
	if err := m.survey(ctx); err != nil {
		return err
	}
	if m.record == nil {
		m.record = &record{State: state{System: m.system.name}, Objects: map[string]string{}}
	}
	before, err := m.record.data()
	if err != nil {
		return err
	}
	m.record.State.Version = buildversion.Get().Version
	for i := range m.theirs {
		m.record.keepDeployment(&m.theirs[i])
	}
	if err := m.keepDefinitions(); err != nil {
		return err
	}
	if err := m.keepWebhooks(ctx); err != nil {
		return err
	}
	after, err := m.record.data()
	if err != nil || m.record.stored != nil && maps.Equal(before, after) {
		return err
	}
	return m.save(ctx, after)
}

// keepDeployment keeps the replicas that somebody else has set. Zero is what an earlier run has left, unless there was none.
func (r *record) keepDeployment(deployment *appsv1.Deployment) {
	kept := recordedDeployment{Namespace: deployment.Namespace, Name: deployment.Name, Replicas: replicas(deployment)}
	at := slices.IndexFunc(r.State.Deployments, func(d recordedDeployment) bool { return d.is(deployment) })
	switch {
	case at < 0:
		r.State.Deployments = append(r.State.Deployments, kept)
	case kept.Replicas > 0:
		r.State.Deployments[at] = kept
	}
}

func (m *migration) keepDefinitions() error {
	for name, own := range m.own {
		there := m.live[name]
		switch {
		case there == nil && !slices.Contains(m.record.State.Created, name):
			m.record.State.Created = append(m.record.State.Created, name)
		case there != nil && m.system.owns(own.Spec.Group) && !definitions.IsOurs(there):
			text, err := pack(&apiextensionsv1.CustomResourceDefinition{ObjectMeta: written(there), Spec: there.Spec})
			if err != nil {
				return err
			}
			m.record.Objects[definitionPrefix+name+keySuffix] = text
		}
	}
	slices.Sort(m.record.State.Created)
	return nil
}

func (m *migration) keepWebhooks(ctx context.Context) error {
	all, err := m.readWebhooks(ctx)
	if err != nil {
		return err
	}
	for _, w := range all {
		if !w.own {
			continue
		}
		if m.record.Objects[w.key()], err = packWebhook(w); err != nil {
			return err
		}
	}
	return nil
}

// written is the part of the metadata that people have written.
func written(object metav1.Object) metav1.ObjectMeta {
	annotations := maps.Clone(object.GetAnnotations())
	delete(annotations, lastApplied)
	return metav1.ObjectMeta{Name: object.GetName(), Labels: object.GetLabels(), Annotations: annotations}
}

func pack(object any) (string, error) {
	text, err := json.Marshal(object)
	return string(text), err
}

// data is the content of the ConfigMap.
func (r *record) data() (map[string]string, error) {
	text, err := pack(r.State)
	if err != nil {
		return nil, err
	}
	data := maps.Clone(r.Objects)
	data[stateKey] = text
	return data, nil
}

// save stores the record. Of two commands at once, one loses.
func (m *migration) save(ctx context.Context, data map[string]string) error {
	size := 0
	for key, text := range data {
		size += len(key) + len(text)
	}
	if size > largestRecord {
		return fmt.Errorf("the record of the previous state has %d bytes, and a ConfigMap holds %d: migrate by hand (docs/migration.md)",
			size, largestRecord)
	}
	stored := m.record.stored
	fresh := stored == nil
	if fresh {
		stored = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Namespace: m.home, Name: m.system.recordName(), Labels: map[string]string{"app.kubernetes.io/part-of": "espalier"},
		}}
	}
	stored.Data = data
	var err error
	if fresh {
		if err = m.ensureNamespace(ctx); err == nil {
			err = m.client.Create(ctx, stored)
		}
	} else {
		err = m.client.Update(ctx, stored)
	}
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		return m.needsSomebody(cli.ExitError, fmt.Sprintf("another client has changed ConfigMap %s/%s", m.home, m.system.recordName()),
			"make sure that no other migration of this cluster is running")
	}
	m.record.stored = stored
	return m.access.Explain(err, "write ConfigMap "+m.system.recordName(), m.home)
}

func (m *migration) ensureNamespace(ctx context.Context) error {
	err := m.client.Get(ctx, client.ObjectKey{Name: m.home}, &corev1.Namespace{})
	if !apierrors.IsNotFound(err) {
		return err
	}
	err = m.client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: m.home}})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}
