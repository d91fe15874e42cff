// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package connect

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/cli"
)

// ReadPipeline reads a pipeline in the user's namespace.
func (a *Access) ReadPipeline(ctx context.Context, c client.Reader, namespace, name string) (*pipelines.Pipeline, error) {
	pipeline := &pipelines.Pipeline{}
	err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, pipeline)
	if apierrors.IsNotFound(err) && !isKindMissing(err) {
		return nil, &cli.Problem{
			Code: cli.ExitNotFound, What: fmt.Sprintf("pipeline %s does not exist", name), Where: a.Where(namespace), Cause: err,
			Next: []string{a.Suggest(namespace, "pipeline", "get")},
		}
	}
	return pipeline, a.Explain(err, "read pipeline "+name, namespace)
}

// pipelinePrefix marks a pipeline among arguments that otherwise name installations.
const pipelinePrefix = "pipeline/"

// PipelineName returns the name of the pipeline in an argument with a kind, as kubectl and -o name write it.
func PipelineName(argument string) (name string, ok bool) {
	prefix, name, found := strings.Cut(argument, "/")
	kind, _, _ := strings.Cut(strings.ToLower(prefix), ".")
	return name, found && strings.TrimSuffix(kind, "s") == "pipeline" && name != ""
}

// CompleteRootsAndPipelines offers root installations, and pipelines behind their kind.
func (a *Access) CompleteRootsAndPipelines(cmd *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	name, isPipeline := strings.CutPrefix(begun, pipelinePrefix)
	if !isPipeline {
		return a.CompleteInstallations(RootInstallations)(cmd, args, begun)
	}
	names, directive := a.CompletePipelines(false)(cmd, nil, name)
	for i := range names {
		names[i] = pipelinePrefix + names[i]
	}
	return names, directive
}

// CompletePipelines offers the names of pipelines for the first argument, and for the second those of the pipeline's
// environments if the command takes one.
func (a *Access) CompletePipelines(environments bool) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, toComplete string) ([]cobra.Completion, cobra.ShellCompDirective) {
		namespace, err := a.Namespace()
		if err != nil || len(args) > 1 || len(args) == 1 && !environments {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		if len(args) == 1 {
			return beginningWith(toComplete, a.environmentsOf(cmd, namespace, args[0])), cobra.ShellCompDirectiveNoFileComp
		}
		names := a.names(cmd, pipelines.SchemeGroupVersion.WithKind("PipelineList"), &client.ListOptions{Namespace: namespace})
		return beginningWith(toComplete, names), cobra.ShellCompDirectiveNoFileComp
	}
}

func (a *Access) environmentsOf(cmd *cobra.Command, namespace, name string) []string {
	c, err := a.Client()
	if err != nil {
		return nil
	}
	ctx, cancel := CompletionContext(cmd)
	defer cancel()
	pipeline, err := a.ReadPipeline(ctx, c, namespace, name)
	if err != nil {
		return nil
	}
	var names []string
	for _, environment := range pipeline.Spec.Environments {
		names = append(names, environment.Name)
	}
	return names
}
