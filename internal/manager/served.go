// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"espalier.dev/internal/telemetry"
)

const (
	// Discovery cannot be watched. A kind that was installed a moment ago is found quickly, a later one less quickly.
	firstLook = 250 * time.Millisecond
	lastLook  = 10 * time.Second
)

// Waiting is a controller that does not run yet, because the cluster does not serve a kind that it needs.
type Waiting struct {
	Controller string
	Kind       schema.GroupVersionKind
}

func (w Waiting) String() string {
	return fmt.Sprintf("%s waits until the cluster serves %s of %s", w.Controller, w.Kind.Kind, w.Kind.GroupVersion())
}

// latecomers sets up controllers as soon as their kinds are served, in every replica: each controller waits for the lease separately.
type latecomers struct {
	manager ctrl.Manager
	opts    Options

	mutex   sync.Mutex
	waiting []latecomer
}

type latecomer struct {
	Controller
	missing schema.GroupVersionKind
}

var _ manager.LeaderElectionRunnable = &latecomers{}

// NeedLeaderElection returns false, so that every replica reports whether it could work.
func (l *latecomers) NeedLeaderElection() bool { return false }

// setUp adds a controller to the manager, or keeps it until it can be added.
func (l *latecomers) setUp(c Controller) error {
	missing, err := firstUnserved(l.manager.GetRESTMapper(), c.Kinds)
	if err != nil {
		return err
	}
	if missing.Empty() {
		return l.begin(c)
	}
	w := latecomer{Controller: c, missing: missing}
	l.waiting = append(l.waiting, w)
	l.manager.GetLogger().Info("A controller waits until the cluster serves a kind", "controller", c.Name, "kind", missing.String())
	return nil
}

// begin adds a controller whose kinds are served, and its metrics of state.
func (l *latecomers) begin(c Controller) error {
	if err := c.Setup(l.manager, l.opts); err != nil || c.Counts == nil {
		return err
	}
	return telemetry.Count(l.manager, c.Counts, foreignTo(l.manager))
}

// Start returns when all controllers have started.
func (l *latecomers) Start(ctx context.Context) error {
	for pause := firstLook; len(l.list()) > 0; pause = min(2*pause, lastLook) {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
		begun, err := l.setUpServed()
		if err != nil {
			return err
		}
		if begun {
			pause = firstLook // the kinds of the others may follow at once
		}
	}
	return nil
}

// setUpServed sets up the controllers whose kinds are served. The error is that of a controller that could not be set up.
func (l *latecomers) setUpServed() (begun bool, err error) {
	var still []latecomer
	for _, w := range l.list() {
		missing, err := firstUnserved(l.manager.GetRESTMapper(), w.Kinds)
		switch {
		case err != nil:
			l.manager.GetLogger().V(1).Info("Cannot find out which kinds the cluster serves", "cause", err.Error())
			still = append(still, w)
		case !missing.Empty():
			w.missing = missing
			still = append(still, w)
		default:
			l.manager.GetLogger().Info("The cluster serves the kinds that a controller waited for; starting it", "controller", w.Name)
			if err := l.begin(w.Controller); err != nil {
				return begun, err
			}
			begun = true
		}
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.waiting = still
	return begun, nil
}

func (l *latecomers) list() []latecomer {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return slices.Clone(l.waiting)
}

func (l *latecomers) describe() []Waiting {
	var result []Waiting
	for _, w := range l.list() {
		result = append(result, Waiting{Controller: w.Name, Kind: w.missing})
	}
	return result
}

// running returns a readiness probe: a selected controller must run.
func (l *latecomers) running(controller string) healthz.Checker {
	return func(*http.Request) error {
		for _, w := range l.describe() {
			if w.Controller == controller {
				return errors.New(w.String())
			}
		}
		return nil
	}
}

// firstUnserved returns the first kind that the cluster does not serve, empty if it serves all.
func firstUnserved(mapper meta.RESTMapper, kinds []schema.GroupVersionKind) (schema.GroupVersionKind, error) {
	for _, kind := range kinds {
		_, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
		if meta.IsNoMatchError(err) {
			return kind, nil
		}
		if err != nil {
			return schema.GroupVersionKind{}, fmt.Errorf("check whether the cluster serves %s of %s: %w", kind.Kind, kind.GroupVersion(), err)
		}
	}
	return schema.GroupVersionKind{}, nil
}
