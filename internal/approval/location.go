// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
)

//espalier:rights pipelines
//	watch pipelines: the response to an approval over HTTP names the pull request

// awaitLocation returns the URL of the pull request for an approved promotion. It waits for it, but not for long: the approval is
// valid in any case. An empty URL means that there is none, or none yet.
func (h *handler) awaitLocation(parent context.Context, pipeline *pipelines.Pipeline, target address) string {
	promotion := pipeline.Status.Environments[target.environment].Promotion
	url, final := locationOf(pipeline, target, promotion)
	if final {
		return url
	}
	ctx, cancel := context.WithTimeout(parent, h.LocationPatience)
	defer cancel()
	watcher, err := h.Client.Watch(ctx, &pipelines.PipelineList{}, &client.ListOptions{
		Namespace:     pipeline.Namespace,
		FieldSelector: fields.OneTermEqualSelector("metadata.name", pipeline.Name),
		Raw:           watchFrom(pipeline),
	})
	if err != nil {
		// The approval is recorded; the response must report that even if the pull request cannot be watched.
		h.Log.Error(fmt.Errorf("watch the pipeline: %w", err), "The pull request is not awaited", "pipeline", target.pipeline)
		return ""
	}
	defer watcher.Stop()
	for event := range watcher.ResultChan() {
		current, ok := event.Object.(*pipelines.Pipeline)
		if !ok || event.Type == watch.Deleted {
			return ""
		}
		if url, final := locationOf(current, target, promotion); final {
			return url
		}
	}
	return ""
}

// locationOf returns the URL of the pull request of the approved promotion. final reports whether further waiting is useless: the URL is
// known, or there will be none.
func locationOf(pipeline *pipelines.Pipeline, target address, approved *pipelines.PromotionStatus) (url string, final bool) {
	current := pipeline.Status.Environments[target.environment].Promotion
	if approved == nil || current == nil || current.Revision != approved.Revision || current.Run != approved.Run {
		return "", true
	}
	if current.PullRequest != nil && current.PullRequest.URL != "" {
		return current.PullRequest.URL, true
	}
	block := promotionInto(pipeline, target.environment)
	if block == nil || block.Strategy.PullRequest == nil {
		return "", true
	}
	waiting := []pipelines.PromotionState{pipelines.PromotionUnattempted, pipelines.PromotionAttempting, pipelines.PromotionCreated}
	return "", !slices.Contains(waiting, current.State)
}

// watchFrom starts the watch at the version that was read, so that no change in between is missed.
func watchFrom(pipeline *pipelines.Pipeline) *metav1.ListOptions {
	return &metav1.ListOptions{ResourceVersion: pipeline.ResourceVersion}
}
