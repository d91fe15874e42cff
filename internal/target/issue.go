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

// ShootKind is the kind of the clusters that Gardener makes.
var ShootKind = schema.GroupVersionKind{Group: "core.gardener.cloud", Version: "v1beta1", Kind: "Shoot"}

// The request for a kubeconfig of a shoot, as Gardener's API has it.
const (
	adminRequestVersion = "authentication.gardener.cloud/v1alpha1"
	adminRequestKind    = "AdminKubeconfigRequest"
)

// issueTimeout is how long a cluster may take to issue a credential. Somebody waits for it, and clusters belong to users.
const issueTimeout = 20 * time.Second

// Issued is a credential that a cluster has issued.
type Issued struct {
	// Value is a token or a kubeconfig.
	Value string
	// Expires is when it ends.
	Expires time.Time
}

// Token asks the cluster for a token of one of its service accounts, valid for so many seconds, with the rights of the Target.
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

// AdminKubeconfig asks a Gardener for a kubeconfig of one of its shoots that is valid for so many seconds.
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
		return Issued{}, fmt.Errorf("the answer to the request for a kubeconfig of shoot %s contains none", shoot)
	}
	return Issued{Value: string(request.Status.Kubeconfig), Expires: request.Status.ExpirationTimestamp.Time}, nil
}

// checkNames keeps what is no name out of the paths of requests.
func checkNames(what string, object types.NamespacedName) error {
	if len(validation.IsDNS1123Subdomain(object.Name)) > 0 {
		return invalid("the name of the %s is no name of an object", what)
	}
	if len(validation.IsDNS1123Label(object.Namespace)) > 0 {
		return invalid("the namespace of the %s is no name of a namespace", what)
	}
	return nil
}

// refusedIssue says why a credential is not issued. What the request asks for may have to change if it is invalid; everything else may
// change in the cluster.
func refusedIssue(what string, err error) error {
	details := failure.Details{Operation: operationConnect, Reason: ReasonTokenRefused}
	switch {
	case apierrors.IsNotFound(err):
		return failure.NewRetryable(details, fmt.Errorf("%s cannot be had: it does not exist in the cluster", what))
	case apierrors.IsForbidden(err):
		return failure.NewRetryable(details, fmt.Errorf("%s cannot be had: the credential of the Target may not ask for it", what))
	case apierrors.IsInvalid(err) || apierrors.IsBadRequest(err):
		return failure.NewTerminal(details, fmt.Errorf("%s cannot be had: %w", what, err))
	}
	return failure.NewRetryable(details, fmt.Errorf("ask for %s: %w", what, err))
}
