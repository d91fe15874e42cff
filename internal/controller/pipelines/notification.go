// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipelines

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/pipeline"
)

const (
	// eventReason is the reason of the Event that a promotion by notification emits.
	eventReason = "Promote"
	// reporter is the source of events: users of the API filter by the name of its first controller.
	reporter = "pipeline-controller"
	// notificationTimeout is how long the receiver of events may take to answer.
	notificationTimeout = 15 * time.Second
)

// notifier promotes by notifying others: always by a Kubernetes Event, and by an event for Flux's notification-controller if its address
// is known.
type notifier struct {
	cluster client.Client
	alerts  *alerts
	// address is where notification-controller receives events; empty if there is none.
	address string
	http    *http.Client
}

// notify sends the events of a promotion. Both carry its key, so that a repetition is detected: the Kubernetes Event is named after it,
// and notification-controller drops a second event with the same token.
func (n *notifier) notify(ctx context.Context, p *pipelines.Pipeline, e pipeline.Promote) (pipeline.Result, error) {
	message := fmt.Sprintf("Promote pipeline %s/%s to %s with version %s", p.Namespace, p.Name, e.ID.Environment, e.Value)
	if err := n.record(ctx, p, e, message); err != nil {
		return pipeline.Result{}, err
	}
	if n.address == "" {
		return pipeline.Result{}, nil
	}
	if err := n.send(ctx, p, e, message); err != nil {
		return pipeline.Result{}, err
	}
	return pipeline.Result{Message: n.unheard(ctx, p)}, nil
}

// metadataOf returns the metadata for receivers of an event. notification-controller passes on only keys that are prefixed with the
// object's group, and strips the prefix; it never passes on the token, which it uses to detect repetitions.
func metadataOf(e pipeline.Promote) map[string]string {
	metadata := map[string]string{}
	for key, value := range map[string]string{
		"environment": e.ID.Environment, "version": e.Value, "revision": e.Revision, "promotion-id": e.ID.Key, "token": e.ID.Key,
	} {
		metadata[pipelines.GroupName+"/"+key] = value
	}
	return metadata
}

//espalier:rights pipelines
//	create events: a promotion by notification is an Event that carries the revision

func (n *notifier) record(ctx context.Context, p *pipelines.Pipeline, e pipeline.Promote, message string) error {
	now := metav1.Now()
	event := &corev1.Event{
		ObjectMeta:          metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name + "." + e.ID.Key, Annotations: metadataOf(e)},
		InvolvedObject:      referenceTo(p),
		Reason:              eventReason,
		Message:             message,
		Type:                corev1.EventTypeNormal,
		FirstTimestamp:      now,
		LastTimestamp:       now,
		Count:               1,
		Source:              corev1.EventSource{Component: reporter},
		ReportingController: reporter,
	}
	if err := client.IgnoreAlreadyExists(n.cluster.Create(ctx, event)); err != nil {
		return failure.NewRetryable(failure.Details{Reason: "EventFailed"}, fmt.Errorf("create the Event for the promotion: %w", err))
	}
	return nil
}

func referenceTo(p *pipelines.Pipeline) corev1.ObjectReference {
	return corev1.ObjectReference{
		APIVersion: pipelines.SchemeGroupVersion.String(), Kind: pipelineKind, Namespace: p.Namespace, Name: p.Name, UID: p.UID,
		ResourceVersion: p.ResourceVersion,
	}
}

// fluxEvent is the format that notification-controller accepts.
type fluxEvent struct {
	InvolvedObject      corev1.ObjectReference `json:"involvedObject"`
	Severity            string                 `json:"severity"`
	Timestamp           metav1.Time            `json:"timestamp"`
	Message             string                 `json:"message"`
	Reason              string                 `json:"reason"`
	Metadata            map[string]string      `json:"metadata"`
	ReportingController string                 `json:"reportingController"`
}

// send posts the event. Status 429 means that the event was already received: the token prevents confusion with other events.
func (n *notifier) send(ctx context.Context, p *pipelines.Pipeline, e pipeline.Promote, message string) error {
	body, err := json.Marshal(fluxEvent{
		InvolvedObject: referenceTo(p), Severity: "info", Timestamp: metav1.Now(), Message: message, Reason: eventReason,
		Metadata: metadataOf(e), ReportingController: reporter,
	})
	if err != nil {
		return fmt.Errorf("write the event: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, notificationTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, n.address, bytes.NewReader(body))
	if err != nil {
		return failure.NewTerminal(failure.Details{Reason: "EventsAddressInvalid"}, fmt.Errorf("send the event: %w", err))
	}
	request.Header.Set("Content-Type", "application/json")
	answer, err := n.http.Do(request)
	if err != nil {
		return failure.NewRetryable(failure.Details{Reason: "EventNotSent"}, fmt.Errorf("send the event: %w", err))
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 64<<10)) // so that the connection can be reused
	if answer.StatusCode/100 != 2 && answer.StatusCode != http.StatusTooManyRequests {
		return failure.NewRetryable(
			failure.Details{Reason: "EventRefused"},
			fmt.Errorf("send the event: the receiver at %s answered %s", n.address, answer.Status),
		)
	}
	return nil
}

// unheard returns an error if certainly no Alert passes the event on: notification-controller accepts such events without a message.
func (n *notifier) unheard(ctx context.Context, p *pipelines.Pipeline) string {
	if heard, known := n.alerts.passOn(ctx, p); heard || !known {
		return ""
	}
	return fmt.Sprintf(
		"the event was sent, but no Alert selects Pipeline %s/%s: create one with spec.eventSources of kind %s",
		p.Namespace,
		p.Name,
		pipelineKind,
	)
}
