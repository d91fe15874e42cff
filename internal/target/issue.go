// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"espalier.dev/internal/failure"
)

// ShootKind is the kind of clusters created by Gardener.
var ShootKind = schema.GroupVersionKind{Group: "core.gardener.cloud", Version: "v1beta1", Kind: "Shoot"}

// The request for a kubeconfig of a shoot in Gardener's API.
const (
	adminRequestVersion = "authentication.gardener.cloud/v1alpha1"
	adminRequestKind    = "AdminKubeconfigRequest"
)

// issueTimeout is how long a cluster may take to issue a credential. A caller waits for it, and clusters belong to users.
const issueTimeout = 20 * time.Second

// Issued is a credential issued by a cluster.
type Issued struct {
	// Value is a token or a kubeconfig.
	Value string
	// Expires is when it expires.
	Expires time.Time
}

// Token requests a token of one of the cluster's service accounts, valid for the given number of seconds, with the rights of
// the Target.
func (c *Cluster) Token(ctx context.Context, account types.NamespacedName, seconds int64) (Issued, error) {
	if err := checkNames("service account", account); err != nil {
		return Issued{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, issueTimeout)
	defer cancel()
	accounts, err := corev1client.NewForConfig(c.Config())
	if err != nil {
		return Issued{}, fmt.Errorf("connect: %w", err)
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}
	answer, err := accounts.ServiceAccounts(account.Namespace).CreateToken(ctx, account.Name, request, metav1.CreateOptions{})
	if err != nil {
		return Issued{}, refusedIssue("a token of service account "+account.String(), err)
	}
	return Issued{Value: answer.Status.Token, Expires: answer.Status.ExpirationTimestamp.Time}, nil
}

// AdminKubeconfig requests a kubeconfig of one of a Gardener's shoots, valid for the given number of seconds.
func (c *Cluster) AdminKubeconfig(ctx context.Context, shoot types.NamespacedName, seconds int64) (Issued, error) {
	if err := checkNames("shoot", shoot); err != nil {
		return Issued{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, issueTimeout)
	defer cancel()
	raw, err := corev1client.NewForConfig(c.Config())
	if err != nil {
		return Issued{}, fmt.Errorf("connect: %w", err)
	}
	body, err := json.Marshal(map[string]any{
		"apiVersion": adminRequestVersion, "kind": adminRequestKind, "spec": map[string]any{"expirationSeconds": seconds},
	})
	if err != nil {
		return Issued{}, err
	}
	answer, err := raw.RESTClient().Post().
		AbsPath("/apis", ShootKind.Group, ShootKind.Version, "namespaces", shoot.Namespace, "shoots", shoot.Name, "adminkubeconfig").
		SetHeader("Content-Type", "application/json").Body(body).Do(ctx).Raw()
	if err != nil {
		return Issued{}, refusedIssue("a kubeconfig of shoot "+shoot.String(), err)
	}
	return readAdminKubeconfig(shoot, answer)
}

func readAdminKubeconfig(shoot types.NamespacedName, answer []byte) (Issued, error) {
	var request struct {
		Status struct {
			Kubeconfig          []byte      `json:"kubeconfig"`
			ExpirationTimestamp metav1.Time `json:"expirationTimestamp"`
		} `json:"status"`
	}
	if len(answer) > 2*maxContent || json.Unmarshal(answer, &request) != nil || len(request.Status.Kubeconfig) == 0 {
		return Issued{}, fmt.Errorf("the answer to the request for a kubeconfig of shoot %s has no kubeconfig", shoot)
	}
	return Issued{Value: string(request.Status.Kubeconfig), Expires: request.Status.ExpirationTimestamp.Time}, nil
}

// checkNames keeps invalid names out of the paths of requests.
func checkNames(what string, object types.NamespacedName) error {
	if len(validation.IsDNS1123Subdomain(object.Name)) > 0 {
		return invalid("the name of the %s is not a valid object name", what)
	}
	if len(validation.IsDNS1123Label(object.Namespace)) > 0 {
		return invalid("the namespace of the %s is not a valid namespace name", what)
	}
	return nil
}

// refusedIssue returns the error for a credential that is not issued. An invalid request must change; any other cause
// may change in the cluster.
func refusedIssue(what string, err error) error {
	details := failure.Details{Operation: operationConnect, Reason: ReasonTokenRefused}
	switch {
	case apierrors.IsNotFound(err):
		return failure.NewRetryable(details, fmt.Errorf("cannot get %s: it does not exist in the cluster", what))
	case apierrors.IsForbidden(err):
		return failure.NewRetryable(details, fmt.Errorf("cannot get %s: the credential of the Target may not request it", what))
	case apierrors.IsInvalid(err) || apierrors.IsBadRequest(err):
		return failure.NewTerminal(details, fmt.Errorf("cannot get %s: %w", what, err))
	}
	return failure.NewRetryable(details, fmt.Errorf("request %s: %w", what, err))
}
