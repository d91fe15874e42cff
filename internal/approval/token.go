// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
)

// TokenAudience is the required audience of tokens. Tokens for the API server itself are rejected: they must not be sent to this server.
const TokenAudience = "espalier-approvals"

// approveVerb is the right to decide on promotions.
const approveVerb = "approve"

// token belongs to a user or a service account. It is never printed.
type token string

// Format keeps the token out of formatted output, for every verb.
func (token) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "token") }

// MarshalText keeps the token out of JSON and structured logs.
func (token) MarshalText() ([]byte, error) { return []byte("token"), nil }

// tokenOf returns the token of a call; empty if there is none.
func tokenOf(r *http.Request) token {
	scheme, value, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return token(strings.TrimSpace(value))
}

//espalier:rights pipelines
//	create tokenreviews.authentication.k8s.io: who approves over HTTP with a token
//	create subjectaccessreviews.authorization.k8s.io: whether that user may approve

// userOf returns the user of a token, if that user may decide on promotions of the pipeline.
func (h *handler) userOf(ctx context.Context, p *pipelines.Pipeline, t token) (string, error) {
	review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: string(t), Audiences: []string{TokenAudience}}}
	if err := h.Client.Create(ctx, review); err != nil {
		return "", fmt.Errorf("check a token: %w", err)
	}
	// An authenticator without support for audiences returns none: then the token is for the API server.
	if !review.Status.Authenticated || !slices.Contains(review.Status.Audiences, TokenAudience) {
		return "", refused("the token is not valid for the audience " + TokenAudience)
	}
	user := review.Status.User
	extra := map[string]authorizationv1.ExtraValue{}
	for name, values := range user.Extra {
		extra[name] = authorizationv1.ExtraValue(values)
	}
	access := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user.Username, UID: user.UID, Groups: user.Groups, Extra: extra,
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: approveVerb, Group: pipelines.GroupName, Resource: "pipelines", Namespace: p.Namespace, Name: p.Name,
		},
	}}
	if err := h.Client.Create(ctx, access); err != nil {
		return "", fmt.Errorf("check the rights of %s: %w", user.Username, err)
	}
	if !access.Status.Allowed {
		return "", refused(fmt.Sprintf("user %s lacks the right to %s pipelines.%s", user.Username, approveVerb, pipelines.GroupName))
	}
	return user.Username, nil
}
