// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/cli/display"
	"espalier.dev/internal/explain"
	"espalier.dev/internal/objecttree"
	"espalier.dev/internal/pipeline"
)

// patience is how long something may wait for its controller or for a cluster until it counts as stuck.
const patience = time.Hour

var ownTypes = []lsv1alpha1.DeployItemType{
	lsv1alpha1.DeployItemTypeManifest, lsv1alpha1.DeployItemTypeHelm, lsv1alpha1.DeployItemTypeContainer, lsv1alpha1.DeployItemTypeMock,
}

// deployers looks for types of deploy items that no deployer picks up.
func (e *examination) deployers(ctx context.Context) {
	var items lsv1alpha1.DeployItemList
	if err := e.Client.List(ctx, &items, client.InNamespace(e.Namespace)); err != nil {
		e.unknown("DeployItems", err)
		return
	}
	e.items = items.Items
	seen, picked := map[lsv1alpha1.DeployItemType]string{}, map[lsv1alpha1.DeployItemType]bool{}
	for _, item := range items.Items {
		if item.Status.Deployer.Name != "" {
			picked[item.Spec.Type] = true
		}
		if item.Status.JobID != "" {
			seen[item.Spec.Type] = item.Namespace + "/" + item.Name
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(seen)) {
		if !picked[kind] && !slices.Contains(ownTypes, kind) {
			e.add(Doubtful, "DeployItem "+seen[kind], fmt.Sprintf("is of type %s, which no deployer has ever picked up", kind),
				"install a deployer of that type, or correct the type in the blueprint")
		}
	}
}

// installations asks of each tree what holds it up.
func (e *examination) installations(ctx context.Context) {
	objects, err := objecttree.Read(ctx, e.Client, e.Namespace)
	if err != nil {
		e.unknown("Installations", err)
		return
	}
	controllers := explain.Read(ctx, e.Client, e.Namespace, e.Now)
	for _, top := range objects.Forest().Tops {
		chains := explain.Find(top, controllers)
		if len(chains) == 0 {
			continue
		}
		first := chains[0]
		advice := explain.AdviceFor(first)
		if !advice.Somebody && top.State() != objecttree.Failed && e.Now.Sub(top.Since()) < patience {
			continue
		}
		next := e.Access.Commands(top.Namespace(), advice)
		if advice.Hint != "" {
			next = append([]string{advice.Hint}, next...)
		}
		e.add(Doubtful, string(top.Kind)+" "+top.Namespace()+"/"+top.Name(),
			fmt.Sprintf("is %s: %s", top.State(), display.Summary(explain.Sentence(first))), next...)
	}
}

// pipelines checks for each pipeline whether a user must act.
func (e *examination) pipelines(ctx context.Context) {
	var list pipelines.PipelineList
	if err := e.Client.List(ctx, &list, client.InNamespace(e.Namespace)); err != nil {
		e.unknown("Pipelines", err)
		return
	}
	e.approvals(ctx, list.Items)
	for i := range list.Items {
		p := &list.Items[i]
		for _, line := range pipeline.Why(pipeline.Recall(p, e.Now)) {
			if line.Remedy == "" {
				continue
			}
			e.add(Doubtful, "Pipeline "+p.Namespace+"/"+p.Name,
				fmt.Sprintf("environment %s: %s", line.Environment, line.Message), line.Remedy, e.Access.Suggest(p.Namespace, "pipeline", "why", p.Name))
		}
	}
}
