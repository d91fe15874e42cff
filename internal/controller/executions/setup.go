// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package executions

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/confidential"
	"espalier.dev/internal/controller/ending"
	"espalier.dev/internal/controller/requests"
	"espalier.dev/internal/execution"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/freshness"
	"espalier.dev/internal/loop"
	"espalier.dev/internal/run"
)

// Name is the name of the controller that Setup adds.
const Name = "executions"

// Options configure the controller of executions.
type Options struct {
	// Workers is how many executions are reconciled concurrently.
	Workers int
}

type executionLoop = loop.Loop[*lsv1alpha1.Execution, execution.Observed, lsv1alpha1.Phase, execution.Effect]

//espalier:rights executions
//	list,watch executions: the objects that it works on
//	list,watch deployitems: it waits for the deploy items of executions
//	list,watch dataobjects: deleted exports are restored

// Setup adds the controller that runs the jobs of executions.
func Setup(mgr ctrl.Manager, opts Options) error {
	mgr = freshness.Of(mgr)
	if err := indexItems(mgr); err != nil {
		return err
	}
	k := &kind{
		cluster: mgr.GetClient(), live: mgr.GetAPIReader(), remembers: freshness.Remembers(mgr.GetClient()), namespaces: ending.Of(mgr),
	}
	l := &executionLoop{
		Name:     "execution",
		Kind:     k,
		New:      func() *lsv1alpha1.Execution { return &lsv1alpha1.Execution{} },
		Reader:   mgr.GetClient(),
		Writer:   mgr.GetClient(),
		Clock:    clock.RealClock{},
		Announce: remarkableTo(loop.EventsTo[*lsv1alpha1.Execution, lsv1alpha1.Phase](mgr.GetEventRecorder(Name))),

		Confidential: confidential.Reader{Live: mgr.GetAPIReader()}.OfExecution,
	}
	err := ending.Watch(l.Controller(mgr, opts.Workers), mgr.GetClient(), &lsv1alpha1.ExecutionList{}).
		Watches(&lsv1alpha1.DeployItem{}, loop.Urgent(executionsOf(mgr.GetClient())), builder.WithPredicates(worthALook())).
		Watches(&lsv1alpha1.DataObject{}, loop.Urgent(exporterOf(mgr.GetClient())), builder.WithPredicates(vanishes())).
		Complete(l)
	if err == nil {
		err = requests.Setup(mgr, requests.Kind[*lsv1alpha1.Execution]{
			Name: Name, New: func() *lsv1alpha1.Execution { return &lsv1alpha1.Execution{} },
			Obeys:  func(e *lsv1alpha1.Execution) bool { return execution.FlowOf(e) == lsv1alpha1.FlowContinuous },
			Status: func(e *lsv1alpha1.Execution) *lsv1alpha1.RunStatus { return &e.Status.RunStatus },
		})
	}
	if err != nil {
		return fmt.Errorf("set up controller %s: %w", Name, err)
	}
	return nil
}

type news = loop.News[*lsv1alpha1.Execution, lsv1alpha1.Phase]

// remarkableTo announces executions that failed, and those whose deploy items another client has changed. The installation reports that an
// execution has started or succeeded.
func remarkableTo(announce func(context.Context, news)) func(context.Context, news) {
	return func(ctx context.Context, n news) {
		status := &n.Object.Status
		changed := slices.ContainsFunc(
			n.Transitions,
			func(t loop.Transition[lsv1alpha1.Phase]) bool { return t.Why.Code == run.ReasonChangedBelow },
		)
		if !changed && (!status.Phase.IsFinal() || status.Phase == lsv1alpha1.PhaseSucceeded) {
			return
		}
		if n.Err == nil && status.Phase.IsFinal() && status.LastError != nil {
			n.Err = failure.NewTerminal(failure.Details{}, errors.New(status.LastError.Message))
		}
		announce(ctx, n)
	}
}
