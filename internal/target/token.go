// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/utils/clock"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/failure"
)

// renewAfter is the fraction of a token's lifetime after which a new one is requested.
const renewAfter = 0.8

// renewalPause is the minimum time between failed renewals while the old token is still valid.
const renewalPause = 10 * time.Second

// issuer creates tokens of service accounts in the cluster that holds the Targets.
type issuer struct {
	accounts corev1client.ServiceAccountsGetter
	clock    clock.PassiveClock

	mutex     sync.Mutex
	audiences []string // of the cluster that holds the Targets; nil if not yet known
}

// token is a credential that expires.
type token struct {
	value   string
	renewAt time.Time
	expires time.Time
}

// issue requests a token.
func (i *issuer) issue(ctx context.Context, wish *tokenWish) (token, error) {
	answer, err := i.request(ctx, wish, wish.audiences)
	if err != nil {
		return token{}, err
	}
	now := i.clock.Now()
	life := answer.Status.ExpirationTimestamp.Sub(now)
	return token{
		value:   answer.Status.Token,
		renewAt: now.Add(time.Duration(renewAfter * float64(life))),
		expires: answer.Status.ExpirationTimestamp.Time,
	}, nil
}

//espalier:rights tokens
//	create serviceaccounts/token: Targets with selfConfig or oidcConfig lead somewhere as a service account of their namespace

func (i *issuer) request(ctx context.Context, wish *tokenWish, audiences []string) (*authenticationv1.TokenRequest, error) {
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: audiences, ExpirationSeconds: &wish.seconds}}
	ctx = wish.as.In(ctx)
	answer, err := i.accounts.ServiceAccounts(wish.namespace).CreateToken(ctx, wish.account, request, metav1.CreateOptions{})
	if err == nil {
		return answer, nil
	}
	details := failure.Details{Operation: operationResolve, Reason: ReasonTokenRefused}
	switch {
	case apierrors.IsNotFound(err):
		return nil, failure.NewRetryable(details, fmt.Errorf("the service account %s does not exist: create it", wish))
	case apierrors.IsForbidden(err):
		details.Codes = []string{string(lsv1alpha1.ErrorUnauthorized)}
		return nil, failure.NewRetryable(
			details,
			fmt.Errorf(
				"%s may not create a token for the service account %s: allow it to create serviceaccounts/token in that namespace",
				wish.as.asker(),
				wish,
			),
		)
	case apierrors.IsInvalid(err) || apierrors.IsBadRequest(err):
		details.Codes = []string{string(lsv1alpha1.ErrorConfigurationProblem)}
		return nil, failure.NewTerminal(
			details,
			fmt.Errorf("cannot get a token for the service account %s with that audience and expirationSeconds: %w", wish, err),
		)
	}
	return nil, failure.NewRetryable(details, fmt.Errorf("create a token for the service account %s: %w", wish, err))
}

// checkAudiences rejects audiences of the cluster that holds the Targets: a token for one of them, sent to another server, lets that
// server act here with the rights of the service account.
func (i *issuer) checkAudiences(ctx context.Context, wish *tokenWish) error {
	own, err := i.ownAudiences(ctx, wish)
	if err != nil {
		return err
	}
	for _, audience := range wish.audiences {
		if slices.Contains(own, audience) {
			return invalid(
				"oidcConfig.audience contains an audience of the cluster of the Target: choose one that only the target cluster accepts, otherwise that cluster could use the token here",
			)
		}
	}
	return nil
}

// ownAudiences determines the audiences of the cluster that holds the Targets: they are in the answer to a token request that
// names none.
func (i *issuer) ownAudiences(ctx context.Context, wish *tokenWish) ([]string, error) {
	i.mutex.Lock()
	known := i.audiences
	i.mutex.Unlock()
	if known != nil {
		return known, nil
	}
	answer, err := i.request(ctx, &tokenWish{namespace: wish.namespace, account: wish.account, seconds: minTokenSeconds, as: wish.as}, nil)
	if err != nil {
		return nil, err
	}
	i.mutex.Lock()
	defer i.mutex.Unlock()
	i.audiences = answer.Spec.Audiences
	return i.audiences, nil
}

// tokenSource keeps the token of a service account fresh. While a new one is fetched, the old one is used as long as it is
// valid.
type tokenSource struct {
	issuer *issuer
	wish   *tokenWish
	turn   chan struct{} // taken by the goroutine that fetches

	mutex   sync.Mutex
	current token
}

func newTokenSource(i *issuer, wish *tokenWish) *tokenSource {
	return &tokenSource{issuer: i, wish: wish, turn: make(chan struct{}, 1)}
}

// header returns the credential as a header.
func (s *tokenSource) header(ctx context.Context) (string, error) {
	value, fresh, good := s.latest()
	if fresh {
		return value, nil
	}
	if good {
		select {
		case s.turn <- struct{}{}:
		default:
			return value, nil
		}
	} else {
		select {
		case s.turn <- struct{}{}:
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
	defer func() { <-s.turn }()
	return s.renew(ctx)
}

// renew fetches a token, unless another goroutine has done so in the meantime. The caller has the turn.
func (s *tokenSource) renew(ctx context.Context) (string, error) {
	if value, fresh, _ := s.latest(); fresh {
		return value, nil
	}
	if len(s.wish.audiences) > 0 {
		if err := s.issuer.checkAudiences(ctx, s.wish); err != nil {
			return "", err
		}
	}
	next, err := s.issuer.issue(ctx, s.wish)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	now := s.issuer.clock.Now()
	if err != nil {
		if !now.Before(s.current.expires) {
			return "", err
		}
		s.current.renewAt = now.Add(renewalPause)
		return bearer(s.current.value), nil
	}
	s.current = next
	return bearer(next.value), nil
}

// latest returns the header of the current token, whether the token needs no renewal, and whether it is valid.
func (s *tokenSource) latest() (value string, fresh, good bool) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	now := s.issuer.clock.Now()
	good = s.current.value != "" && now.Before(s.current.expires)
	return bearer(s.current.value), good && now.Before(s.current.renewAt), good
}
