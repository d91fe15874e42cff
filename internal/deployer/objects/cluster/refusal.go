// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/masking"
)

// Reasons of failed requests.
const (
	ReasonForbidden   = "TargetForbidden"
	ReasonRefused     = "TargetRefused"
	ReasonUnreachable = "TargetUnreachable"
	ReasonUnknownKind = "KindNotServed"
	ReasonConflict    = "TargetConflict"
)

// Refused classifies the error of a request and rewords it so that it contains no value of the object. Rights may be granted
// and kinds installed while the item waits, so only a rejection of the object itself is terminal.
func Refused(operation string, subject Subject, err error) error {
	if err == nil || alreadyClassified(err) {
		return err
	}
	if status := apierrors.APIStatus(nil); failure.KindOf(err) == failure.Terminal && !errors.As(err, &status) {
		return fmt.Errorf("%s %s: %w", operation, subject, err)
	}
	details, terminal, text := classify(err, isSecret(subject.GVK))
	details.Operation = inCamelCase(operation)
	told := refusal{text: fmt.Sprintf("%s %s: %s", operation, subject, text), cause: err}
	if terminal {
		return failure.NewTerminal(details, told)
	}
	return failure.NewRetryable(details, told)
}

// Classify classifies an error of another client: the codes for the status, and whether a retry is useless.
func Classify(err error) (codes []string, terminal bool) {
	if failure.KindOf(err) == failure.Terminal {
		return failure.DetailsOf(err).Codes, true
	}
	details, terminal, _ := classify(err, true)
	return details.Codes, terminal
}

// inCamelCase joins words into a CamelCase identifier.
func inCamelCase(words string) string {
	var result strings.Builder
	for _, word := range strings.Fields(words) {
		result.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return result.String()
}

// refusal keeps the original error for errors.Is and As, and never prints it.
type refusal struct {
	text  string
	cause error
}

func (r refusal) Error() string { return r.text }
func (r refusal) Unwrap() error { return r.cause }

func alreadyClassified(err error) bool { return errors.As(err, new(refusal)) }

func isSecret(gvk schema.GroupVersionKind) bool { return gvk.Group == "" && gvk.Kind == "Secret" }

// verdict classifies a response of the API server.
type verdict struct {
	applies  func(error) bool
	reason   string
	code     lsv1alpha1.ErrorCode
	terminal bool
	tell     func(status apierrors.APIStatus, secret bool) string
}

// verdicts are in the order in which they are tried. The last one always applies.
var verdicts = []verdict{
	{applies: isAdmission, reason: ReasonRefused, code: lsv1alpha1.ErrorWebhook, tell: messageOf},
	{applies: lacksRights, reason: ReasonForbidden, code: lsv1alpha1.ErrorUnauthorized, tell: messageOf},
	{applies: apierrors.IsForbidden, reason: ReasonRefused, tell: messageOf},
	{applies: apierrors.IsUnauthorized, reason: ReasonForbidden, code: lsv1alpha1.ErrorUnauthorized, tell: messageOf},
	{applies: apierrors.IsInvalid, reason: ReasonRefused, code: lsv1alpha1.ErrorConfigurationProblem, terminal: true, tell: causesOf},
	{applies: isMalformed, reason: ReasonRefused, code: lsv1alpha1.ErrorConfigurationProblem, terminal: true, tell: messageOf},
	{
		applies: isConflict,
		reason:  ReasonConflict,
		tell:    func(apierrors.APIStatus, bool) string { return "it was changed by another client at the same time" },
	},
	{
		applies: apierrors.IsNotFound,
		reason:  ReasonRefused,
		tell:    func(status apierrors.APIStatus, _ bool) string { return messageOf(status, false) },
	},
	{applies: func(error) bool { return true }, reason: ReasonUnreachable, tell: messageOf},
}

// lacksRights reports whether the user has no right, rather than that the object is forbidden for other reasons, such as a quota or a
// namespace in deletion.
func lacksRights(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), " cannot ")
}

func isMalformed(err error) bool {
	return apierrors.IsBadRequest(err) || apierrors.IsRequestEntityTooLargeError(err) || apierrors.IsMethodNotSupported(err) ||
		apierrors.IsUnsupportedMediaType(err)
}

func isConflict(err error) bool { return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) }

func classify(err error, secret bool) (details failure.Details, terminal bool, text string) {
	if meta.IsNoMatchError(err) {
		return failure.Details{Reason: ReasonUnknownKind}, false, "the cluster does not serve this kind: install its custom resource definition"
	}
	status := apierrors.APIStatus(nil)
	if !errors.As(err, &status) {
		return classifyConnection(err)
	}
	at := slices.IndexFunc(verdicts, func(v verdict) bool { return v.applies(err) })
	found := verdicts[at]
	details.Reason = found.reason
	if found.code != "" {
		details.Codes = []string{string(found.code)}
	}
	return details, found.terminal, found.tell(status, secret)
}

// classifyConnection classifies errors that are not responses of an API server.
func classifyConnection(err error) (failure.Details, bool, string) {
	details := failure.Details{Reason: ReasonUnreachable}
	var network net.Error
	var postponed interface {
		error
		NextAttempt() time.Time
	}
	switch {
	case errors.As(err, &postponed): // It names the server, since when it does not answer, and when the next attempt is.
		return details, false, postponed.Error()
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return details, false, "the cluster did not answer in time"
	case errors.Is(err, context.Canceled):
		return details, false, "the request was canceled"
	}
	return details, false, err.Error()
}

// isAdmission reports whether an error is the response of an admission webhook, which has no status reason.
func isAdmission(err error) bool {
	text := err.Error()
	return strings.Contains(text, "admission webhook ") || strings.Contains(text, "failed calling webhook ")
}

// messageOf returns the server's message, without its quotes of a body that it cannot parse. For a Secret, it returns only
// the reason.
func messageOf(status apierrors.APIStatus, secret bool) string {
	answer := status.Status()
	if secret {
		return fmt.Sprintf("the API server rejected it: %s", answer.Reason)
	}
	return masking.Refusal(answer)
}

// causesOf lists the fields that the server rejects, and why, without their values.
func causesOf(status apierrors.APIStatus, secret bool) string {
	details := status.Status().Details
	if details == nil || len(details.Causes) == 0 {
		return "the API server rejected it as invalid"
	}
	var parts []string
	for _, cause := range details.Causes {
		parts = append(parts, describeCause(cause, secret))
	}
	return "the API server rejected it as invalid: " + strings.Join(parts, "; ")
}

func describeCause(cause metav1.StatusCause, secret bool) string {
	text := cause.Field
	if text == "" {
		text = "the object"
	}
	if secret {
		return fmt.Sprintf("%s (%s)", text, cause.Type)
	}
	return masking.Cause(cause)
}
