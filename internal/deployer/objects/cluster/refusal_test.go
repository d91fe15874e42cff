// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"espalier.dev/internal/decision"
	"espalier.dev/internal/failure"
)

var (
	resource  = schema.GroupResource{Resource: "configmaps"}
	kind      = schema.GroupKind{Kind: "ConfigMap"}
	configMap = Subject{
		GVK: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"},
		Key: client.ObjectKey{Namespace: "garden", Name: "one"},
	}
	secret = Subject{GVK: schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, Key: client.ObjectKey{Namespace: "garden", Name: "one"}}
)

func invalid(value any, detail string) error {
	return apierrors.NewInvalid(kind, "one", field.ErrorList{field.Invalid(field.NewPath("data").Key("a"), value, detail)})
}

func TestRefused(t *testing.T) {
	for name, c := range map[string]struct {
		subject Subject
		err     error
		kind    failure.Kind
		reason  string
		code    string
		text    string
	}{
		"forbidden":       {configMap, apierrors.NewForbidden(resource, "one", errors.New(`User "u" cannot create resource`)), failure.Retryable, ReasonForbidden, "ERR_UNAUTHORIZED", "forbidden"},
		"a quota":         {configMap, apierrors.NewForbidden(resource, "one", errors.New("exceeded quota: q")), failure.Retryable, ReasonRefused, "", "quota"},
		"unauthorized":    {configMap, apierrors.NewUnauthorized("who"), failure.Retryable, ReasonForbidden, "ERR_UNAUTHORIZED", "who"},
		"invalid":         {configMap, invalid("hunter2", "must be a number"), failure.Terminal, ReasonRefused, "ERR_CONFIGURATION_PROBLEM", "data[a]: Invalid value: must be a number"},
		"invalid: colon":  {configMap, invalid("x: hunter2: y", "must be: a number"), failure.Terminal, ReasonRefused, "ERR_CONFIGURATION_PROBLEM", "data[a]: Invalid value: must be: a number"},
		"invalid: number": {configMap, invalid(-1, "must be positive"), failure.Terminal, ReasonRefused, "ERR_CONFIGURATION_PROBLEM", "data[a]: Invalid value: must be positive"},
		"invalid: object": {configMap, invalid(map[string]string{"hunter2: ": "x"}, "bad"), failure.Terminal, ReasonRefused, "ERR_CONFIGURATION_PROBLEM", "data[a]: Invalid value"},
		"invalid secret":  {secret, invalid("hunter2", "hunter2"), failure.Terminal, ReasonRefused, "ERR_CONFIGURATION_PROBLEM", "data[a] (FieldValueInvalid)"},
		"invalid, no more": {configMap, &apierrors.StatusError{ErrStatus: metav1.Status{
			Reason:  metav1.StatusReasonInvalid,
			Code:    422,
			Message: "hunter2",
		}}, failure.Terminal, ReasonRefused, "ERR_CONFIGURATION_PROBLEM", "rejected it as invalid"},
		"bad request":      {configMap, apierrors.NewBadRequest("cannot read it, error found in #10 byte of ...|hunter2|..."), failure.Terminal, ReasonRefused, "ERR_CONFIGURATION_PROBLEM", "cannot read it"},
		"bad secret":       {secret, apierrors.NewBadRequest("hunter2"), failure.Terminal, ReasonRefused, "ERR_CONFIGURATION_PROBLEM", "BadRequest"},
		"a webhook":        {configMap, apierrors.NewForbidden(resource, "one", errors.New(`admission webhook "w" denied the request: no`)), failure.Retryable, ReasonRefused, "ERR_WEBHOOK", "denied"},
		"a broken webhook": {configMap, apierrors.NewInternalError(errors.New(`failed calling webhook "w"`)), failure.Retryable, ReasonRefused, "ERR_WEBHOOK", "webhook"},
		"conflict":         {configMap, apierrors.NewConflict(resource, "one", errors.New("x")), failure.Retryable, ReasonConflict, "", "same time"},
		"not found":        {secret, apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "garden"), failure.Retryable, ReasonRefused, "", `namespaces "garden" not found`},
		"unavailable":      {configMap, apierrors.NewServiceUnavailable("later"), failure.Retryable, ReasonUnreachable, "", "later"},
		"no such kind":     {configMap, &meta.NoKindMatchError{GroupKind: kind}, failure.Retryable, ReasonUnknownKind, "", "does not serve"},
		"too late":         {configMap, fmt.Errorf("get: %w", context.DeadlineExceeded), failure.Retryable, ReasonUnreachable, "", "in time"},
		"given up":         {configMap, context.Canceled, failure.Retryable, ReasonUnreachable, "", "canceled"},
		"no connection":    {configMap, errors.New("connection refused"), failure.Retryable, ReasonUnreachable, "", "connection refused"},
		"terminal already": {configMap, failure.Terminalf(failure.Details{Reason: "Mine"}, "no cluster"), failure.Terminal, "Mine", "", "no cluster"},
	} {
		t.Run(name, func(t *testing.T) {
			err := fmt.Errorf("above: %w", Refused("patch it", c.subject, fmt.Errorf("below: %w", c.err)))
			details := failure.DetailsOf(err)
			if failure.KindOf(err) != c.kind || details.Reason != c.reason || strings.Join(details.Codes, " ") != c.code {
				t.Errorf("%v with %+v", failure.KindOf(err), details)
			}
			if !strings.Contains(err.Error(), c.text) || !strings.Contains(err.Error(), c.subject.String()) ||
				strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the text is %q", err)
			}
			if !errors.Is(err, c.err) {
				t.Error("the cause is lost")
			}
			if again := Refused("again", c.subject, err); c.reason != "Mine" && again != err {
				t.Errorf("classified twice: %v", again)
			}
		})
	}
	if Refused("x", configMap, nil) != nil {
		t.Error("nothing was refused")
	}
}

func TestJoin(t *testing.T) {
	if Join([]error{nil, nil}) != nil {
		t.Error("nothing joined is an error")
	}
	one := errors.New("one")
	if Join([]error{nil, one}) != one {
		t.Error("a single error was wrapped")
	}
	errs := []error{nil}
	for i := range 7 {
		errs = append(errs, fmt.Errorf("error %d", i))
	}
	errs = append(errs, failure.Terminalf(failure.Details{Reason: "End"}, "the end"))
	err := Join(errs)
	if want := "the end; error 0; error 1; error 2; error 3; and 3 more"; err.Error() != want {
		t.Errorf("%q, want %q", err, want)
	}
	if failure.KindOf(err) != failure.Terminal || failure.DetailsOf(err).Reason != "End" {
		t.Errorf("%v, %+v", failure.KindOf(err), failure.DetailsOf(err))
	}
}

func TestAwait(t *testing.T) {
	if Await(WaitingForKind, nil) != nil {
		t.Error("a wait for nothing")
	}
	every := Subject{GVK: configMap.GVK}
	wait := Await(
		WaitingForReadiness,
		[]Pending{{Subject: configMap, Missing: "it sleeps", Watched: &every}, {Subject: secret}, {Subject: secret}},
	)
	want := &Wait{
		Reason: decision.Reason{Code: WaitingForReadiness, Message: "ConfigMap garden/one: it sleeps (and 2 more)"},
		On:     []Subject{every, secret, secret},
	}
	if diff := cmp.Diff(want, wait); diff != "" {
		t.Error(diff)
	}
}

func TestEach(t *testing.T) {
	var mutex sync.Mutex
	running, most, calls := 0, 0, 0
	Each(50, func(int) {
		mutex.Lock()
		running++
		calls++
		most = max(most, running)
		mutex.Unlock()
		runtime.Gosched()
		mutex.Lock()
		running--
		mutex.Unlock()
	})
	if calls != 50 || most > atOnce {
		t.Errorf("%d calls, %d at once", calls, most)
	}
	defer func() {
		if thrown := recover(); thrown != "defect" {
			t.Errorf("the caller caught %v", thrown)
		}
	}()
	Each(3, func(i int) {
		if i == 1 {
			panic("defect")
		}
	})
}
