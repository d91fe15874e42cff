// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package confidential determines which values an error about an object must not show: the content of the imports of its
// installation, now and in the last job, of the installations that contain it, and of those whose exports it imports; what clusters
// have issued to their templates, and what these keep from job to job; and what looks secret in their exports.
//
// It runs only when there is an error to report, and then reads from the API server: so nothing is kept in memory, and a
// deployer that runs without the other controllers knows as much as they do.
package confidential

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/masking"
	"espalier.dev/internal/tenancy"
)

// Reader determines confidential values.
type Reader struct {
	// Live reads from the API server.
	Live client.Reader
}

// OfInstallation returns the values that an error about an installation must not show.
func (r Reader) OfInstallation(ctx context.Context, inst *lsv1alpha1.Installation) *masking.Values {
	s := r.search(inst.Namespace)
	return s.result(s.installation(ctx, inst))
}

// OfExecution returns the values that an error about an execution must not show.
func (r Reader) OfExecution(ctx context.Context, e *lsv1alpha1.Execution) *masking.Values {
	s := r.search(e.Namespace)
	return s.result(s.installationNamed(ctx, e.Name))
}

// OfDeployItem returns the values that an error about a deploy item must not show.
func (r Reader) OfDeployItem(ctx context.Context, item *lsv1alpha1.DeployItem) *masking.Values {
	s := r.search(item.Namespace)
	if target := item.Spec.Target; target != nil {
		if err := s.target(ctx, target.Name); err != nil {
			return s.result(err)
		}
	}
	above := dataflow.ExecutionOf(item)
	if above == "" && item.Labels[lsv1alpha1.ExecutionManagedNameLabel] != "" {
		return s.result(lost("DeployItem", item, lsv1alpha1.ExecutionManagedByLabel))
	}
	return s.result(s.installationNamed(ctx, above))
}

// lost is the error about an object that was created for another one, but no longer names it.
func lost(kind dataflow.ObjectKind, object metav1.Object, label string) error {
	return fmt.Errorf("%s %s/%s no longer names the object that it was created for, neither as its owner nor in the label %s: restore the label",
		kind, object.GetNamespace(), object.GetName(), label)
}

// maxInstallations bounds a search: if what is made of a Secret may lie behind more installations than these, nothing is shown.
const maxInstallations = 256

type search struct {
	live      client.Reader
	namespace string
	values    *masking.Values
	// seen are the objects already read.
	seen map[dataflow.ObjectID]bool
	left int
}

func (r Reader) search(namespace string) *search {
	return &search{live: r.Live, namespace: namespace, values: &masking.Values{}, seen: map[dataflow.ObjectID]bool{}, left: maxInstallations}
}

func (s *search) result(err error) *masking.Values {
	if err != nil {
		return masking.Unknown(err)
	}
	return s.values
}

//espalier:rights installations,executions,deployer-*
//	get installations,targets,dataobjects: to mask secret values in error messages
//	get secrets: to mask values of Secrets in error messages

// read reads an object of the namespace, unless it has been read already. A missing object hides nothing.
func (s *search) read(ctx context.Context, id dataflow.ObjectID, object client.Object) (found bool, err error) {
	if id.Name == "" || s.seen[id] {
		return false, nil
	}
	s.seen[id] = true
	err = s.live.Get(tenancy.Own(ctx), client.ObjectKey{Namespace: s.namespace, Name: id.Name}, object)
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("read %s %s/%s: %w", id.Kind, s.namespace, id.Name, err)
	}
	return err == nil, nil
}

const kindInstallation dataflow.ObjectKind = "Installation"

func (s *search) installationNamed(ctx context.Context, name string) error {
	inst := &lsv1alpha1.Installation{}
	found, err := s.read(ctx, dataflow.ObjectID{Kind: kindInstallation, Name: name}, inst)
	if err != nil || !found {
		return err
	}
	if s.left == 0 {
		return fmt.Errorf("values reach it from more than %d installations, the last being %s/%s", maxInstallations, s.namespace, name)
	}
	s.left--
	return s.installation(ctx, inst)
}

func (s *search) installation(ctx context.Context, inst *lsv1alpha1.Installation) error {
	s.seen[dataflow.ObjectID{Kind: kindInstallation, Name: inst.Name}] = true
	scope := dataflow.Scope{Namespace: inst.Namespace, Parent: dataflow.ParentOf(inst)}
	if scope.IsRoot() && inst.Annotations[lsv1alpha1.SubinstallationNameAnnotation] != "" {
		return lost(kindInstallation, inst, lsv1alpha1.EncompassedByLabel)
	}
	needs := dataflow.NeedsOf(scope, inst.Spec.Imports)
	if git := inst.Spec.Blueprint.Git; git != nil && git.SecretReference != nil {
		needs.Secrets = append(needs.Secrets, git.SecretReference.Name)
	}
	needs.Secrets = append(needs.Secrets, inst.Status.StateSecrets...)
	if err := s.answers(ctx, inst.Name); err != nil {
		return err
	}
	if err := s.exports(ctx, inst.Name); err != nil {
		return err
	}
	if err := s.former(ctx, inst); err != nil {
		return err
	}
	for _, group := range []struct {
		names []string
		read  func(context.Context, string) error
	}{{needs.Secrets, s.secret}, {needs.Targets, s.target}, {needs.DataObjects, s.exporter}, {[]string{scope.Parent}, s.installationNamed}} {
		for _, name := range group.names {
			if err := group.read(ctx, name); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *search) secret(ctx context.Context, name string) error {
	secret := &corev1.Secret{}
	if _, err := s.read(ctx, dataflow.ObjectID{Kind: dataflow.KindSecret, Name: name}, secret); err != nil {
		return err
	}
	s.values.AddSecret(secret.Data)
	return nil
}

// former adds the values that the last job has found in Secrets: the Secrets may have changed since, and what was deployed has not.
func (s *search) former(ctx context.Context, inst *lsv1alpha1.Installation) error {
	inside := dataflow.Scope{Namespace: inst.Namespace, Parent: inst.Name}
	for _, data := range inst.Spec.Imports.Data {
		if data.SecretRef == nil {
			continue
		}
		object := &lsv1alpha1.DataObject{}
		found, err := s.read(ctx, dataflow.ObjectID{Kind: "content of DataObject", Name: inside.ObjectName(data.Name)}, object)
		if err != nil {
			return err
		}
		text := ""
		if found && object.Data.Decode(&text) != nil {
			text = string(object.Data.Raw)
		}
		s.values.AddText(text)
	}
	return nil
}

// answers adds the credentials that clusters have issued to templates of an installation.
func (s *search) answers(ctx context.Context, installation string) error {
	secret := &corev1.Secret{}
	id := dataflow.ObjectID{Kind: "answers in Secret", Name: dataflow.AnswersSecret(installation)}
	if _, err := s.read(ctx, id, secret); err != nil {
		return err
	}
	for _, kubeconfig := range dataflow.AnswersIn(secret.Data) {
		s.values.AddCredentials(map[string][]byte{"kubeconfig": []byte(kubeconfig)})
	}
	return nil
}

// target adds the credentials of a Target. Elements of lists and maps that a parent imports are among the parent's own.
func (s *search) target(ctx context.Context, name string) error {
	target := &lsv1alpha1.Target{}
	found, err := s.read(ctx, dataflow.ObjectID{Kind: dataflow.KindTarget, Name: name}, target)
	if err != nil || !found {
		return err
	}
	s.values.AddTarget(target)
	if target.Spec.SecretRef != nil {
		secret := &corev1.Secret{}
		if _, err := s.read(ctx, dataflow.ObjectID{Kind: "content of Secret", Name: target.Spec.SecretRef.Name}, secret); err != nil {
			return err
		}
		s.values.AddCredentials(secret.Data)
	}
	return s.exporterOf(ctx, dataflow.KindTarget, target)
}

// exports adds what looks secret in the values that the deploy items of an installation have read from target clusters.
func (s *search) exports(ctx context.Context, installation string) error {
	object := &lsv1alpha1.DataObject{}
	id := dataflow.ObjectID{Kind: "exports in DataObject", Name: dataflow.ExecutionExportName(installation)}
	found, err := s.read(ctx, id, object)
	if err != nil || !found {
		return err
	}
	return s.exported(object)
}

func (s *search) exported(object *lsv1alpha1.DataObject) error {
	var value any
	if err := object.Data.Decode(&value); err != nil {
		return fmt.Errorf("read the content of DataObject %s/%s: it is not JSON", object.Namespace, object.Name)
	}
	s.values.AddExport(value)
	return nil
}

// exporter adds what looks secret in a DataObject that an installation has written, and what the installation imports: the DataObject may
// be made from it.
func (s *search) exporter(ctx context.Context, name string) error {
	object := &lsv1alpha1.DataObject{}
	found, err := s.read(ctx, dataflow.ObjectID{Kind: dataflow.KindDataObject, Name: name}, object)
	if err != nil || !found {
		return err
	}
	if dataflow.SourceOf(object) != "" {
		if err := s.exported(object); err != nil {
			return err
		}
	}
	return s.exporterOf(ctx, dataflow.KindDataObject, object)
}

func (s *search) exporterOf(ctx context.Context, kind dataflow.ObjectKind, object metav1.Object) error {
	name := dataflow.SourceOf(object)
	if name == "" && object.GetLabels()[lsv1alpha1.DataObjectSourceTypeLabel] == lsv1alpha1.DataObjectSourceExport {
		return lost(kind, object, lsv1alpha1.DataObjectSourceLabel)
	}
	return s.installationNamed(ctx, name)
}
