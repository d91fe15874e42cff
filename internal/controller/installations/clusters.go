// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installations

import (
	"context"
	"fmt"
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"espalier.dev/internal/blueprint"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/installation"
)

// answerTimeout limits how long clusters may take to answer the calls of one installation: they belong to users, and occupy a worker.
const answerTimeout = 30 * time.Second

// answered repeats a plan until all calls of clusters are answered. make returns why there is no plan.
func (k *kind) answered(ctx context.Context, in *installation.Inputs, make func() error) error {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	for {
		err := make()
		asked, refused := installation.Asks(*in, err)
		if refused != nil || asked == nil {
			return refused
		}
		answer, err := k.askCluster(ctx, asked)
		if err != nil {
			return fmt.Errorf("a template calls %s: %w", asked.Call.Credential, err)
		}
		in.Answers = maps.Clone(in.Answers)
		in.Answers[asked.Call] = answer
	}
}

// askCluster gets the answer to a call from the cluster of a Target, with the rights of the Target. Repeating a call is harmless: what a
// cluster issues expires by itself.
func (k *kind) askCluster(ctx context.Context, asked *blueprint.Unanswered) (blueprint.Answer, error) {
	call := asked.Call
	if call.Credential == blueprint.FunctionShoot {
		cluster, err := k.clusters.For(ctx, asked.Target)
		if err != nil {
			return blueprint.Answer{}, err
		}
		issued, err := cluster.AdminKubeconfig(ctx, types.NamespacedName{Namespace: call.Namespace, Name: call.Name}, call.Seconds)
		return blueprint.Answer{Kubeconfig: issued.Value, Expires: issued.Expires}, err
	}
	way, err := k.clusters.WayOf(ctx, asked.Target)
	if err != nil {
		return blueprint.Answer{}, err
	}
	switch call.Credential {
	case blueprint.FunctionOIDC:
		kubeconfig, err := way.WithLogin(call.Issuer, call.Client)
		return blueprint.Answer{Kubeconfig: kubeconfig}, err
	case blueprint.FunctionServiceAccount:
		cluster, err := k.clusters.For(ctx, asked.Target)
		if err != nil {
			return blueprint.Answer{}, err
		}
		issued, err := cluster.Token(ctx, types.NamespacedName{Namespace: call.Namespace, Name: call.Name}, call.Seconds)
		if err != nil {
			return blueprint.Answer{}, err
		}
		kubeconfig, err := way.WithToken(call.Name, issued.Value)
		return blueprint.Answer{Kubeconfig: kubeconfig, Expires: issued.Expires}, err
	}
	return blueprint.Answer{}, failure.Terminalf(failure.Details{Operation: "RenderBlueprint"}, "no target can answer it")
}
