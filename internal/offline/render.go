// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/blueprint"
	"espalier.dev/internal/catalog"
	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/installation"
	"espalier.dev/internal/masking"
	"espalier.dev/internal/template"
)

// Options say what to render, and from what in addition to the manifests.
type Options struct {
	// Installation is the name of an installation, or NAMESPACE/NAME. Empty means all that are not nested.
	Installation string
	// Recursive also renders nested installations.
	Recursive bool
	Library   *Library
	// Outside provides components and blueprints that are neither in the library nor in the manifests. Nil means none.
	Outside Outside
	Exports GivenExports
	// Present provides the objects of a cluster in addition to the manifests. Nil means that there is no cluster.
	Present Present
	// KeepGoing lists nested installations that cannot be rendered in the result, instead of returning an error.
	KeepGoing bool
	// Most limits how many installations are rendered; 0 means no limit.
	Most int
}

// Render returns the objects that controllers would write for installations. What must wait for exports that are not given is omitted and
// listed.
func Render(ctx context.Context, m *Manifests, options Options) (*Result, error) {
	r := newRenderer(ctx, m, options)
	chosen, err := choose(m.Installations, options.Installation)
	if err != nil {
		return nil, err
	}
	for _, group := range groups(m, chosen) {
		if err := r.group(group); err != nil {
			return nil, r.result.secrets.Error(err)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(options.Exports)) {
		if !r.visited[path] {
			r.result.warn("exports of %s have no effect: no installation of that path was rendered", path)
		}
	}
	return r.result, nil
}

// Find looks up the blueprint of the installation in the options.
func Find(ctx context.Context, m *Manifests, options Options) (*blueprint.Blueprint, error) {
	found, err := Open(ctx, m, options)
	return found.Blueprint, err
}

// Opened is a blueprint with the validator for its place.
type Opened struct {
	Blueprint *blueprint.Blueprint
	// Validate validates a value against a schema of the blueprint, which may refer to other places.
	Validate dataflow.Validator
	Warnings []string
}

// Open looks up the blueprint of the installation in the options, and prepares to validate its imports.
func Open(ctx context.Context, m *Manifests, options Options) (Opened, error) {
	chosen, err := choose(m.Installations, options.Installation)
	if err != nil {
		return Opened{}, err
	}
	r := newRenderer(ctx, m, options)
	found, err := r.find(groups(m, chosen)[0][0])
	if err != nil {
		return Opened{Warnings: r.result.Warnings}, err
	}
	return Opened{Blueprint: found.Blueprint, Validate: r.engine.Validator(found), Warnings: r.result.Warnings}, nil
}

func newRenderer(ctx context.Context, m *Manifests, options Options) *renderer {
	engine := blueprint.NewEngine()
	manifests := *m // More objects are added to the copy.
	return &renderer{
		Options:       options,
		ctx:           ctx,
		manifests:     &manifests,
		world:         newWorld(m),
		engine:        engine,
		catalog:       catalog.New(engine),
		result:        &Result{Warnings: slices.Clone(m.Warnings), secrets: &masking.Values{}},
		visited:       map[string]bool{},
		secretObjects: map[objectKey]bool{},
		brought:       map[objectKey]bool{},
	}
}

type renderer struct {
	Options
	ctx       context.Context
	manifests *Manifests
	world     *world
	engine    *blueprint.Engine
	catalog   *catalog.Catalog
	result    *Result
	// visited contains the paths of the rendered installations.
	visited map[string]bool
	// secretObjects are DataObjects whose content comes only from a Secret.
	secretObjects map[objectKey]bool
	// brought are context objects taken from a cluster, by kind.
	brought map[objectKey]bool
}

// node is an installation in its tree.
type node struct {
	*lsv1alpha1.Installation
	path  string
	scope dataflow.Scope
	// origin is where the manifest was read from which the installation comes, directly or indirectly.
	origin string
}

// choose returns the installations to start with.
func choose(all []*lsv1alpha1.Installation, name string) ([]*lsv1alpha1.Installation, error) {
	var chosen []*lsv1alpha1.Installation
	for _, inst := range all {
		if isNamed(inst, name) {
			chosen = append(chosen, inst)
		}
	}
	switch {
	case len(all) == 0:
		return nil, errors.New("there is no Installation among the manifests")
	case len(chosen) == 0 && name == "":
		return nil, fmt.Errorf("all Installations among the manifests are nested in others: say which one to render; there is %s", list(all))
	case len(chosen) == 0:
		return nil, fmt.Errorf("there is no Installation %q among the manifests; there is %s", name, list(all))
	case len(chosen) > 1 && name != "":
		return nil, fmt.Errorf("there is more than one Installation %q: say which one as NAMESPACE/NAME; there is %s", name, list(chosen))
	}
	return chosen, nil
}

// isNamed reports whether a name selects an installation; an empty name selects every root.
func isNamed(inst *lsv1alpha1.Installation, name string) bool {
	if name == "" {
		return inst.Labels[lsv1alpha1.EncompassedByLabel] == ""
	}
	return name == inst.Name || name == inst.Namespace+"/"+inst.Name
}

func list(installations []*lsv1alpha1.Installation) string {
	var names []string
	for _, inst := range installations {
		names = append(names, inst.Namespace+"/"+inst.Name)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// groups groups the installations by scope, in order.
func groups(m *Manifests, installations []*lsv1alpha1.Installation) [][]node {
	byScope := map[string][]node{}
	for _, inst := range installations {
		scope := dataflow.Scope{Namespace: inst.Namespace, Parent: inst.Labels[lsv1alpha1.EncompassedByLabel]}
		key := scope.Namespace + "/" + scope.Parent
		byScope[key] = append(byScope[key], node{Installation: inst, path: inst.Name, scope: scope, origin: m.origin(inst)})
	}
	var result [][]node
	for _, key := range slices.Sorted(maps.Keys(byScope)) {
		result = append(result, byScope[key])
	}
	return result
}

// group renders installations of one scope from the manifests. Others of the scope are not rendered, but may export what these import.
func (r *renderer) group(chosen []node) error {
	family := slices.Clone(chosen)
	for _, other := range groups(r.manifests, r.manifests.Installations) {
		for _, n := range other {
			known := func(c node) bool { return c.Installation == n.Installation }
			if n.scope.Context() == chosen[0].scope.Context() && n.Namespace == chosen[0].Namespace && !slices.ContainsFunc(chosen, known) {
				family = append(family, n)
			}
		}
	}
	_, err := r.siblings(chosen, family)
	return err
}

// siblings renders installations of one scope in the order of their data flow, and reports whether all of them are complete. The family is
// all installations of the scope.
func (r *renderer) siblings(nodes, family []node) (complete bool, err error) {
	if len(nodes) == 0 {
		return true, nil
	}
	related, err := relate(family)
	if err != nil {
		return false, err
	}
	for _, n := range nodes {
		if err := related.Check(n.Name); err != nil {
			return false, located(n, err)
		}
	}
	complete = true
	for _, n := range inOrder(related, nodes) {
		finished, err := r.sibling(n, family)
		if err != nil && !r.survives(n, err) {
			return false, err
		}
		complete = complete && finished && err == nil
	}
	return complete, nil
}

func relate(family []node) (*dataflow.Siblings, error) {
	var siblings []dataflow.Sibling
	for _, n := range family {
		siblings = append(siblings, dataflow.Sibling{Name: n.Name, Imports: n.Spec.Imports, Exports: n.Spec.Exports})
	}
	return dataflow.NewSiblings(family[0].scope, siblings)
}

// inOrder sorts installations so that each comes after those that it imports from, and by name otherwise. Circles, which
// can only be among installations that are not rendered, do not matter.
func inOrder(related *dataflow.Siblings, nodes []node) []node {
	byName := map[string]node{}
	for _, n := range nodes {
		byName[n.Name] = n
	}
	var ordered []node
	seen := map[string]bool{}
	var visit func(name string)
	visit = func(name string) {
		if seen[name] {
			return
		}
		seen[name] = true
		for _, before := range related.Predecessors(name) {
			visit(before)
		}
		if n, chosen := byName[name]; chosen {
			ordered = append(ordered, n)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		visit(name)
	}
	return ordered
}

func (r *renderer) sibling(n node, family []node) (complete bool, err error) {
	if r.Most > 0 && len(r.visited) >= r.Most {
		r.result.LeftOut++
		return false, nil
	}
	if err := r.bring(n); err != nil {
		return false, located(n, err)
	}
	r.assume(n, family)
	if waiting := r.waitsFor(n, family); len(waiting) > 0 {
		r.visited[n.path] = true
		r.result.Waiting = append(r.result.Waiting, waiting...)
		return false, nil
	}
	complete, err = r.installation(n)
	if err != nil {
		return false, located(n, err)
	}
	return complete, nil
}

// located adds to an error which installation it is about, and where it was read.
func located(n node, err error) error {
	var inner *locatedError
	if errors.As(err, &inner) {
		return err
	}
	where := "installation " + n.path
	if n.origin != "" {
		where = n.origin + ": " + where
	}
	return &locatedError{where: where, cause: err}
}

// locatedError names the innermost installation of an error.
type locatedError struct {
	where string
	cause error
}

func (e *locatedError) Error() string { return e.where + ": " + e.cause.Error() }
func (e *locatedError) Unwrap() error { return e.cause }

// waitsFor lists the imports that are missing because a sibling has not exported them.
func (r *renderer) waitsFor(n node, family []node) []string {
	needs := dataflow.NeedsOf(n.scope, n.Spec.Imports)
	missing := map[dataflow.ObjectID]bool{}
	for _, name := range needs.DataObjects {
		_, exists := r.world.dataObjects[named(n.Namespace, name)]
		missing[dataflow.ObjectID{Kind: dataflow.KindDataObject, Name: name}] = !exists
	}
	for _, name := range needs.Targets {
		_, exists := r.world.targets[named(n.Namespace, name)]
		missing[dataflow.ObjectID{Kind: dataflow.KindTarget, Name: name}] = !exists
	}
	var waiting []string
	for _, sibling := range family {
		for reference, id := range exportsOf(sibling) {
			if missing[id] {
				waiting = append(waiting, fmt.Sprintf("installation %s: waiting for export %s of %s", n.path, reference, sibling.path))
			}
		}
	}
	slices.Sort(waiting)
	return slices.Compact(waiting)
}

// exportsOf returns the exports of an installation by the names that its siblings use.
func exportsOf(n node) map[string]dataflow.ObjectID {
	exports := map[string]dataflow.ObjectID{}
	for _, export := range n.Spec.Exports.Data {
		exports[export.DataRef] = dataflow.ObjectID{Kind: dataflow.KindDataObject, Name: n.scope.ObjectName(export.DataRef)}
	}
	for _, export := range n.Spec.Exports.Targets {
		exports[export.Target] = dataflow.ObjectID{Kind: dataflow.KindTarget, Name: n.scope.ObjectName(export.Target)}
	}
	return exports
}

// installation renders one installation with everything below it. It is complete if its exports are known.
func (r *renderer) installation(n node) (complete bool, err error) {
	r.visited[n.path] = true
	in, err := r.input(n)
	if err != nil {
		return false, err
	}
	plan := installation.NewPlan(r.engine, in)
	if plan.Err != nil {
		return false, plan.Err
	}
	r.warn(n, plan.Prepared.Warnings)
	r.result.Made = append(r.result.Made, Made{Namespace: n.Namespace, Name: n.Name, Path: n.path})
	if err := unpack(plan); err != nil {
		return false, err
	}
	children := r.keep(n, plan)
	nested := len(children) == 0
	if r.Recursive {
		if nested, err = r.siblings(children, children); err != nil {
			return false, err
		}
	}
	return r.exports(n, finished{in: in, plan: plan, nestedComplete: nested})
}

// input collects everything that an installation depends on, as its controller would.
func (r *renderer) input(n node) (in installation.Inputs, err error) {
	if in.Input, err = r.find(n); err != nil {
		return in, r.Library.explain(r.manifests, err)
	}
	in.Run.Flow, in.Below = n.Spec.Flow, r.below(n)
	// What templates generate here is a placeholder for what the cluster generates.
	in.Entropy = template.NewEntropy([]byte(n.path), time.Unix(0, 0).UTC())
	if err := r.bringStates(n, in.Blueprint.StateSecrets(n.Name)); err != nil {
		return in, err
	}
	in.States, err = in.Blueprint.LoadStates(n.Name, pick(r.world.secrets, n.Namespace, in.Blueprint.StateSecrets(n.Name)))
	if err != nil {
		return in, err
	}
	in.Scope, in.Facts = n.scope, r.world.facts(n.scope, n.Spec.Imports)
	addFacts(r.result.secrets, in.Facts)
	return in, nil
}

// keep stores the objects that an installation wants, and returns the nested installations.
func (r *renderer) keep(n node, plan *installation.Plan) []node {
	imports := objectsOf(plan.Context)
	r.world.add(imports)
	r.markSecret(n, imports)
	r.keepContext(imports)
	if plan.Execution != nil {
		r.result.add(bare(plan.Execution.Wanted))
	}
	var children []node
	for _, sub := range plan.Subs {
		r.result.add(bare(sub.Wanted))
		scope := dataflow.Scope{Namespace: n.Namespace, Parent: n.Name}
		children = append(children, node{Installation: sub.Wanted, path: n.path + "/" + sub.Name, scope: scope, origin: n.origin})
	}
	r.keepStates(n, plan.States)
	return children
}

// unpack replaces compressed deploy items in their execution by uncompressed ones, so that people and masking can read them.
func unpack(plan *installation.Plan) (err error) {
	if plan.Execution == nil {
		return nil
	}
	spec := &plan.Execution.Wanted.Spec
	spec.DeployItems, err = spec.Items()
	spec.DeployItemsCompressed = ""
	return err
}

// bare returns an object without the metadata by which controllers manage it.
func bare[T client.Object](object T) T {
	object.SetOwnerReferences(nil)
	object.SetFinalizers(nil)
	return object
}

// objectsOf returns the objects of writes.
func objectsOf(writes installation.ContextWrites) (objects dataflow.Objects) {
	for _, w := range writes.DataObjects {
		objects.DataObjects = append(objects.DataObjects, w.Wanted)
	}
	for _, w := range writes.Targets {
		objects.Targets = append(objects.Targets, w.Wanted)
	}
	return objects
}

func ownerOf(n node) dataflow.Owner {
	return dataflow.Owner{Namespace: n.Namespace, Name: n.Name, UID: n.UID}
}

// below returns the nested installations in the manifests: a plan keeps their names.
func (r *renderer) below(parent node) (below installation.Below) {
	for _, inst := range r.manifests.Installations {
		if inst.Namespace == parent.Namespace && inst.Labels[lsv1alpha1.EncompassedByLabel] == parent.Name &&
			inst.Annotations[lsv1alpha1.SubinstallationNameAnnotation] != "" {
			below.Subinstallations = append(below.Subinstallations, inst)
		}
	}
	return below
}

func (r *renderer) keepContext(objects dataflow.Objects) {
	for _, object := range objects.DataObjects {
		r.result.addData(object, r.secretObjects[named(object.Namespace, object.Name)])
	}
	for _, target := range objects.Targets {
		r.result.add(target)
	}
}

// markSecret records which imports of an installation come unchanged from Secrets.
func (r *renderer) markSecret(n node, imports dataflow.Objects) {
	fromSecret := map[string]bool{}
	for _, data := range n.Spec.Imports.Data {
		_, mapped := n.Spec.ImportDataMappings[data.Name]
		secretObject := data.DataRef != "" && r.secretObjects[named(n.Namespace, n.scope.ObjectName(data.DataRef))]
		fromSecret[data.Name] = !mapped && (data.SecretRef != nil || secretObject)
	}
	for _, object := range imports.DataObjects {
		if fromSecret[object.Labels[lsv1alpha1.DataObjectKeyLabel]] {
			r.secretObjects[named(object.Namespace, object.Name)] = true
		}
	}
}

func (r *renderer) keepStates(n node, states []installation.StateWrite) {
	for _, state := range states {
		r.result.addState(n.Namespace, state.Name, state.Data)
	}
}

// finished is an installation whose objects are rendered.
type finished struct {
	in   installation.Inputs
	plan *installation.Plan
	// nestedComplete reports whether the exports of all nested installations are known.
	nestedComplete bool
}

// items returns the deploy items.
func (f finished) items() []lsv1alpha1.DeployItemTemplate {
	if f.plan.Execution == nil {
		return nil
	}
	return f.plan.Execution.Wanted.Spec.DeployItems
}

// exports stores the exports of an installation, as far as known, and reports whether they are known.
func (r *renderer) exports(n node, f finished) (known bool, err error) {
	given, isGiven := r.Options.Exports[n.path]
	if len(n.Spec.Exports.Data)+len(n.Spec.Exports.Targets) == 0 {
		if isGiven {
			r.result.warn("exports of %s have no effect: the installation exports nothing", n.path)
		}
		return true, nil
	}
	var objects dataflow.Objects
	switch {
	case given.Exports != nil:
		objects, err = r.givenExports(n, f, given)
	case f.nestedComplete && (isGiven || len(f.items()) == 0):
		objects, err = r.runExports(n, f, given)
	default:
		return false, nil
	}
	if err != nil {
		return false, err
	}
	r.world.add(objects)
	r.keepContext(objects)
	return true, nil
}

// givenExports returns the objects for the given exports.
func (r *renderer) givenExports(n node, f finished, given GivenExport) (dataflow.Objects, error) {
	exports, err := r.engine.ExportsOf(f.in.Input, given.Exports)
	if err != nil {
		return dataflow.Objects{}, fmt.Errorf("exports: %w", err)
	}
	r.warn(n, exports.Warnings)
	return exports.Objects(n.scope, ownerOf(n), nil)
}

func (r *renderer) warn(n node, warnings []string) {
	for _, warning := range warnings {
		r.result.warn("installation %s: %s", n.path, warning)
	}
}

// runExports runs the export executions over the given exports of the deploy items.
func (r *renderer) runExports(n node, f finished, given GivenExport) (dataflow.Objects, error) {
	for _, name := range slices.Sorted(maps.Keys(given.DeployItems)) {
		if !slices.ContainsFunc(f.items(), func(item lsv1alpha1.DeployItemTemplate) bool { return item.Name == name }) {
			r.result.warn("exports of %s: there is no deploy item %q", n.path, name)
		}
	}
	context, err := r.world.context(n.Installation)
	if err != nil {
		return dataflow.Objects{}, fmt.Errorf("exports: %w", err)
	}
	items := given.DeployItems
	if items == nil {
		items = map[string]any{}
	}
	plan := installation.NewExportPlan(r.engine, installation.ExportInputs{
		Inputs: f.in,
		Values: blueprint.ExportValues{DeployItems: items, ContextValues: context},
	})
	if plan.Err != nil {
		return dataflow.Objects{}, fmt.Errorf("exports: %w", plan.Err)
	}
	r.warn(n, plan.Warnings)
	r.keepStates(n, plan.States)
	return objectsOf(plan.Exports), nil
}
