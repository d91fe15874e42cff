// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/execution"
	"espalier.dev/internal/offline"
)

// tree is what a job would make, keyed by the installation that makes it.
type tree struct {
	executions map[string]*lsv1alpha1.Execution
	nested     map[string][]*lsv1alpha1.Installation
	// targets are keyed by their own names.
	targets map[string]*lsv1alpha1.Target
}

func treeOf(result *offline.Result) (*tree, error) {
	plain, err := result.Manifests(true)
	if err != nil {
		return nil, err
	}
	t := &tree{
		executions: map[string]*lsv1alpha1.Execution{}, nested: map[string][]*lsv1alpha1.Installation{}, targets: map[string]*lsv1alpha1.Target{},
	}
	for _, manifest := range plain {
		if err := t.take(manifest); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// take stores a rendered object.
func (t *tree) take(manifest map[string]any) error {
	text, err := json.Marshal(manifest)
	if err != nil {
		return fmt.Errorf("write what was rendered: %w", err)
	}
	switch manifest["kind"] {
	case "Execution":
		e := &lsv1alpha1.Execution{}
		if err := json.Unmarshal(text, e); err != nil {
			return fmt.Errorf("read the execution that was rendered: %w", err)
		}
		t.executions[e.Name] = e
	case "Installation":
		inst := &lsv1alpha1.Installation{}
		if err := json.Unmarshal(text, inst); err != nil {
			return fmt.Errorf("read the installation that was rendered: %w", err)
		}
		parent := inst.Labels[lsv1alpha1.EncompassedByLabel]
		t.nested[parent] = append(t.nested[parent], inst)
	case "Target":
		target := &lsv1alpha1.Target{}
		if err := json.Unmarshal(text, target); err != nil {
			return fmt.Errorf("read the target that was rendered: %w", err)
		}
		t.targets[target.Name] = target
	}
	return nil
}

// items returns the deploy items that an installation would have.
func (t *tree) items(of offline.Made) ([]item, error) {
	e := t.executions[of.Name]
	if e == nil {
		return nil, nil
	}
	templates, err := e.Spec.Items()
	if err != nil {
		return nil, err
	}
	var all []item
	for _, template := range templates {
		spec := lsv1alpha1.DeployItemSpec{Context: e.Spec.Context, Flow: e.Spec.Flow}
		spec.Type, spec.Target, spec.Configuration = template.Type, template.Target, template.Configuration
		spec.Timeout, spec.UpdateOnChangeOnly, spec.OnDelete = template.Timeout, template.UpdateOnChangeOnly, template.OnDelete
		all = append(all, item{of: of, name: template.Name, spec: spec, dependsOn: template.DependsOn})
	}
	return all, nil
}

// item is a deploy item of an installation, by the name that the execution gives it.
type item struct {
	of        offline.Made
	name      string
	spec      lsv1alpha1.DeployItemSpec
	dependsOn []string
	// stored is the existing object; nil if the item is only rendered.
	stored *lsv1alpha1.DeployItem
}

func (i item) made() Made {
	return Made{
		Kind: "DeployItem", Namespace: i.of.Namespace, Name: execution.ItemName(i.of.Name, i.name), Title: i.name,
		Content: contentOf(i.spec, i.dependsOn),
	}
}

// items returns the deploy items that an installation has.
func (l *comparison) items(ctx context.Context, of offline.Made) ([]item, error) {
	var list lsv1alpha1.DeployItemList
	if err := l.list(ctx, &list, deployItems, in(of.Namespace, map[string]string{lsv1alpha1.ExecutionManagedByLabel: of.Name})); err != nil {
		return nil, err
	}
	var all []item
	for i := range list.Items {
		if object := &list.Items[i]; object.DeletionTimestamp.IsZero() {
			all = append(all, item{
				of: of, name: object.Labels[lsv1alpha1.ExecutionManagedNameLabel], spec: object.Spec, stored: object,
				dependsOn: strings.Split(object.Annotations[lsv1alpha1.ExecutionDependsOnAnnotation], ","),
			})
		}
	}
	return all, nil
}

// contentOf returns a spec as JSON values, with the item's dependencies.
func contentOf(spec any, dependsOn []string) map[string]any {
	content := map[string]any{}
	text, err := json.Marshal(spec)
	if err == nil {
		err = json.Unmarshal(text, &content)
	}
	if err != nil {
		return map[string]any{"problem": "it cannot be converted to JSON"}
	}
	if len(dependsOn) > 0 && dependsOn[0] != "" {
		content["dependsOn"] = dependsOn
	}
	return content
}

func madeOf(inst *lsv1alpha1.Installation) Made {
	return Made{
		Kind: "Installation", Namespace: inst.Namespace, Name: inst.Name, Content: contentOf(inst.Spec, nil),
		Title: cmp.Or(inst.Annotations[lsv1alpha1.SubinstallationNameAnnotation], inst.Name),
	}
}

// compare compares all rendered installations. For the others, no changes are shown: it is unknown what they would become.
func (l *comparison) compare(ctx context.Context, rendered []offline.Made, next *tree) (*Diff, error) {
	diff := &Diff{}
	for _, of := range rendered {
		within := strings.TrimPrefix(strings.TrimPrefix(of.Path, l.root.Name), "/")
		before, err := l.items(ctx, of)
		if err != nil {
			return nil, err
		}
		after, err := next.items(of)
		if err != nil {
			return nil, err
		}
		l.addItems(ctx, diff, within, [2][]item{before, after})
		if err := l.addNested(ctx, diff, within, [2][]*lsv1alpha1.Installation{l.nested[of.Name], next.nested[of.Name]}); err != nil {
			return nil, err
		}
	}
	return diff, nil
}

// addItems compares deploy items, and what the changed ones deploy.
func (l *comparison) addItems(ctx context.Context, diff *Diff, within string, pair [2][]item) {
	var made [2][]Made
	for side, items := range pair {
		for _, each := range items {
			made[side] = append(made[side], each.made())
		}
	}
	for _, change := range Compare(made[0], made[1], l.secrets) {
		change.Within = within
		diff.Changes = append(diff.Changes, change)
		l.addDeployed(ctx, diff, change, pair)
	}
}

// addNested compares nested installations. If one would be deleted, so would everything below it.
func (l *comparison) addNested(ctx context.Context, diff *Diff, within string, pair [2][]*lsv1alpha1.Installation) error {
	var made [2][]Made
	for side, nested := range pair {
		for _, inst := range nested {
			made[side] = append(made[side], madeOf(inst))
		}
	}
	for _, change := range Compare(made[0], made[1], l.secrets) {
		change.Within = within
		diff.Changes = append(diff.Changes, change)
		if change.What != Delete {
			continue
		}
		if err := l.addGone(ctx, diff, change); err != nil {
			return err
		}
	}
	return nil
}

// addGone adds everything that would be deleted with a nested installation. Its content is not shown: its sources are no longer read,
// so its secrets are unknown.
func (l *comparison) addGone(ctx context.Context, diff *Diff, above Change) error {
	if len(diff.Changes) > maxChanges {
		return nil
	}
	within := strings.TrimPrefix(above.Within+"/"+above.Title, "/")
	add := func(made Made) Change {
		change := about(made, Delete)
		change.Within, change.Lines = within, []Line{{Op: "-", Text: l.secrets.Text("# It goes with installation " + above.Title + ".")}}
		diff.Changes = append(diff.Changes, change)
		return change
	}
	items, err := l.items(ctx, offline.Made{Namespace: above.Namespace, Name: above.Name})
	if err != nil {
		return err
	}
	for _, each := range items {
		add(each.made())
	}
	nested, err := l.nestedIn(ctx, above.Namespace, above.Name)
	if err != nil {
		return err
	}
	for _, inst := range nested {
		if err := l.addGone(ctx, diff, add(madeOf(inst))); err != nil {
			return err
		}
	}
	return nil
}

// addDeployed compares the objects that a deploy item deploys, if an inspector can determine them.
func (l *comparison) addDeployed(ctx context.Context, diff *Diff, of Change, pair [2][]item) {
	var made [2][]Made
	for side, items := range pair {
		i := slices.IndexFunc(items, func(each item) bool { return each.name == of.Title })
		if i < 0 {
			continue
		}
		inspect, known := l.Inspectors[items[i].spec.Type]
		if !known {
			return
		}
		objects, err := inspect(ctx, lsv1alpha1.DeployItemTemplate{
			Name: items[i].name, Type: items[i].spec.Type, Target: items[i].spec.Target, Configuration: items[i].spec.Configuration,
		})
		if err != nil {
			diff.Notes = append(diff.Notes, l.secrets.Text(fmt.Sprintf("What %s deploys is unknown: %v.", of.Title, err)))
			return
		}
		if len(objects) == 0 {
			diff.Notes = append(diff.Notes, fmt.Sprintf("What the chart of %s renders is unknown here, because it is fetched by the deployer or "+
				"installed as a release. Its configuration is compared.", of.Title))
			return
		}
		for _, object := range objects {
			made[side] = append(made[side], Made{
				Kind: object.GetKind(), Namespace: object.GetNamespace(), Name: object.GetName(), Title: object.GetName(), Content: object.Object,
			})
		}
	}
	for _, change := range Compare(made[0], made[1], l.secrets) {
		change.Within = strings.TrimPrefix(of.Within+"/"+of.Title, "/")
		diff.Changes = append(diff.Changes, change)
	}
}
