// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/confidential"
	"espalier.dev/internal/execution"
	"espalier.dev/internal/masking"
	"espalier.dev/internal/offline"
	"espalier.dev/internal/web/view"
)

// diff shows what the next job of an installation would change of the objects that its blueprint makes, with the imports as they are now.
// Everything is read with the caller's rights; what he may not read is what the message is about.
func (s *Server) diff(r *http.Request, by caller) (any, error) {
	ref := refOf(r)
	ref.Kind = "Installation"
	if _, err := by.read(r, ref); err != nil {
		return nil, err
	}
	objects, message, err := s.nextJob(r, by, ref)
	var known *problem
	switch {
	case errors.As(err, &known):
		message = known.Message
		if known.Command != "" {
			message += " To check: " + known.Command
		}
	case err != nil:
		return nil, err
	case message == "" && len(objects) == 0:
		message = "The next job would change none of the objects that the blueprint makes."
	}
	if objects == nil {
		objects = []view.ObjectDiff{}
	}
	return view.Diff{Objects: objects, Message: message}, nil
}

// nextJob compares what a job would make with what there is.
func (s *Server) nextJob(r *http.Request, by caller, ref view.Ref) (objects []view.ObjectDiff, message string, err error) {
	inst, err := by.installationOf(r, ref.Namespace, ref.Name)
	if err != nil {
		return nil, "", err
	}
	present, err := by.present(r.Context(), inst)
	if err != nil {
		return nil, "", err
	}
	out := s.newOutside()
	defer out.close()
	manifests, err := by.worldOfNextJob(r.Context(), out, inst, present.nested)
	if err != nil {
		return nil, "", err
	}
	secrets := confidential.Reader{Live: by.reader.client}.OfInstallation(r.Context(), inst)
	if !secrets.Known() {
		return nil, "", invalid("What changes is not shown, since it may contain secrets that cannot be told from other values: %s",
			secrets.Text("x"))
	}
	for _, secret := range manifests.Secrets {
		secrets.AddSecret(secret.Data)
	}
	for _, target := range manifests.Targets {
		secrets.AddTarget(target)
	}
	result, err := out.render(r.Context(), inst, manifests)
	if err != nil {
		return nil, "", invalid("The next job would fail, or wait: %s.", secrets.Text(masking.Words(err)))
	}
	wanted, message, err := rendered(inst, result, secrets)
	if err != nil {
		return nil, "", err
	}
	return view.NewDiff(present.made(), wanted.made(), secrets), message, nil
}

// worldOfNextJob is what the installation is rendered from, with the states of its templates.
func (by caller) worldOfNextJob(
	ctx context.Context, out *outside, inst *lsv1alpha1.Installation, nested []lsv1alpha1.Installation,
) (*offline.Manifests, error) {
	manifests, err := by.world(ctx, inst, map[string]any{})
	if err != nil {
		return nil, err
	}
	for i := range nested { // They keep their names.
		manifests.Installations = append(manifests.Installations, &nested[i])
	}
	parsed, err := out.find(ctx, inst, manifests)
	if err != nil {
		return nil, err
	}
	at := view.Ref{Kind: "Secret", Namespace: inst.Namespace}
	states, err := gather[corev1.Secret](ctx, by, at, parsed.StateSecrets(inst.Name))
	manifests.Secrets = append(manifests.Secrets, states...)
	return manifests, err
}

// family is what an installation is made of: deploy items by the names that its execution gives them, and nested installations.
type family struct {
	of     *lsv1alpha1.Installation
	items  map[string]*lsv1alpha1.DeployItem
	nested []lsv1alpha1.Installation
}

// present reads what an installation is made of now.
func (by caller) present(ctx context.Context, inst *lsv1alpha1.Installation) (*family, error) {
	f := &family{of: inst, items: map[string]*lsv1alpha1.DeployItem{}}
	var items lsv1alpha1.DeployItemList
	if err := by.list(ctx, &items, inst.Namespace, "deployitems", client.MatchingLabels{lsv1alpha1.ExecutionManagedByLabel: inst.Name}); err != nil {
		return nil, err
	}
	for i := range items.Items {
		if item := &items.Items[i]; item.DeletionTimestamp.IsZero() {
			f.items[item.Labels[lsv1alpha1.ExecutionManagedNameLabel]] = item
		}
	}
	var nested lsv1alpha1.InstallationList
	err := by.list(ctx, &nested, inst.Namespace, "installations", client.MatchingLabels{lsv1alpha1.EncompassedByLabel: inst.Name})
	for _, child := range nested.Items {
		if child.DeletionTimestamp.IsZero() {
			f.nested = append(f.nested, child)
		}
	}
	return f, err
}

// list reads objects with the caller's rights.
func (by caller) list(ctx context.Context, into client.ObjectList, namespace, resource string, which client.ListOption) error {
	err := by.reader.client.List(ctx, into, client.InNamespace(namespace), which)
	right := getRight(lsv1alpha1.GroupName, resource)
	right.Verb = "list"
	return attempt{right: right, namespace: namespace, what: "list " + resource}.refusal(err)
}

// made are the objects of a family that exists.
func (f *family) made() []view.Made {
	var all []view.Made
	for name, item := range f.items {
		all = append(all, view.Made{
			Ref:   view.Ref{Kind: "DeployItem", Namespace: item.Namespace, Name: execution.ItemName(f.of.Name, name)},
			Title: name, Content: contentOf(item.Spec, strings.Split(item.Annotations[lsv1alpha1.ExecutionDependsOnAnnotation], ",")),
		})
	}
	return append(all, nestedOf(f.nested)...)
}

func nestedOf(nested []lsv1alpha1.Installation) []view.Made {
	var all []view.Made
	for _, child := range nested {
		name := child.Annotations[lsv1alpha1.SubinstallationNameAnnotation]
		if name == "" {
			name = child.Name
		}
		all = append(all, view.Made{
			Ref: view.Ref{Kind: "Installation", Namespace: child.Namespace, Name: child.Name}, Title: name, Content: contentOf(child.Spec, nil),
		})
	}
	return all
}

// contentOf is a spec as JSON values, with what an item depends on.
func contentOf(spec any, dependsOn []string) map[string]any {
	content := map[string]any{}
	text, err := json.Marshal(spec)
	if err == nil {
		err = json.Unmarshal(text, &content)
	}
	if err != nil {
		return map[string]any{"problem": "it cannot be written as JSON"}
	}
	if len(dependsOn) > 0 && dependsOn[0] != "" {
		content["dependsOn"] = dependsOn
	}
	return content
}

// nextFamily is what an installation would be made of after its next job.
type nextFamily struct {
	of     *lsv1alpha1.Installation
	items  []lsv1alpha1.DeployItemTemplate
	common lsv1alpha1.DeployItemSpec
	nested []lsv1alpha1.Installation
}

func (f *nextFamily) made() []view.Made {
	var all []view.Made
	for _, t := range f.items {
		spec := f.common
		spec.Type, spec.Target, spec.Configuration = t.Type, t.Target, t.Configuration
		spec.Timeout, spec.UpdateOnChangeOnly, spec.OnDelete = t.Timeout, t.UpdateOnChangeOnly, t.OnDelete
		all = append(all, view.Made{
			Ref:   view.Ref{Kind: "DeployItem", Namespace: f.of.Namespace, Name: execution.ItemName(f.of.Name, t.Name)},
			Title: t.Name, Content: contentOf(spec, t.DependsOn),
		})
	}
	return append(all, nestedOf(f.nested)...)
}

// rendered is what a job would make. The message is about what it would wait for.
func rendered(inst *lsv1alpha1.Installation, result *offline.Result, secrets *masking.Values) (*nextFamily, string, error) {
	plain, err := result.Manifests(true)
	if err != nil {
		return nil, "", err
	}
	next := &nextFamily{of: inst}
	for _, manifest := range plain {
		if err := next.take(manifest); err != nil {
			return nil, "", err
		}
	}
	var notes []string
	for _, note := range append(result.Waiting, result.Warnings...) {
		notes = append(notes, secrets.Text(note))
	}
	return next, strings.Join(notes, "\n"), nil
}

// take keeps an object that was rendered.
func (f *nextFamily) take(manifest map[string]any) error {
	text, err := json.Marshal(manifest)
	if err != nil {
		return fmt.Errorf("write what was rendered: %w", err)
	}
	switch manifest["kind"] {
	case "Execution":
		var e lsv1alpha1.Execution
		if err := json.Unmarshal(text, &e); err != nil {
			return fmt.Errorf("read the execution that was rendered: %w", err)
		}
		f.common.Context, f.common.Flow = e.Spec.Context, e.Spec.Flow
		f.items, err = e.Spec.Items()
		return err
	case "Installation":
		var child lsv1alpha1.Installation
		if err := json.Unmarshal(text, &child); err != nil {
			return fmt.Errorf("read the installation that was rendered: %w", err)
		}
		f.nested = append(f.nested, child)
	}
	return nil
}
