// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"fmt"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/decision"
)

// Phase is always empty: a pipeline has none.
type Phase string

// Effect is something to be done. Each can be repeated without harm. The status that leads to an effect is stored before it.
type Effect interface {
	fmt.Stringer
	effect()
}

// Decision is what to do next about a pipeline.
type Decision = decision.Of[Phase, Effect]

type (
	// AddFinalizer keeps the pipeline until its pull requests are closed.
	AddFinalizer struct{}
	// RemoveFinalizer lets the pipeline go.
	RemoveFinalizer struct{}
	// RemoveRequest takes away the annotation of a request that was answered, if it still holds the request of that ID. The
	// facts after it do not have the request.
	RemoveRequest struct{ Annotation, ID string }
	// Promote starts an attempt and does not wait for it. The facts after it have the attempt running.
	Promote struct {
		ID AttemptID
		// Revision is what is promoted, Value what is written for it.
		Revision, Value string
		Run             int64
		// Branch is for pull requests.
		Branch    string
		Downgrade bool
		// Strategy is the one that counts; exactly one of its strategies is set.
		Strategy pipelines.Strategy
		Targets  []pipelines.Target
	}
	// Withdraw starts to close a pull request and does not wait for it. The facts after it have the attempt running.
	Withdraw struct {
		ID       AttemptID
		Revision string
		Run      int64
		// PullRequest says where it is. Without a number it is looked up by its branch.
		PullRequest pipelines.PullRequestStatus
		// Message says why, for the comment.
		Message string
	}
	// Announce tells what has happened: one Event each.
	Announce struct{ News []News }
)

func (AddFinalizer) effect()    {}
func (RemoveFinalizer) effect() {}
func (RemoveRequest) effect()   {}
func (Promote) effect()         {}
func (Withdraw) effect()        {}
func (Announce) effect()        {}

// The words in which errors and people read of effects.
func (AddFinalizer) String() string    { return "add the finalizer" }
func (RemoveFinalizer) String() string { return "remove the finalizer" }
func (e RemoveRequest) String() string { return "remove annotation " + e.Annotation }
func (e Promote) String() string {
	return fmt.Sprintf("promote revision %s to environment %s", e.Revision, e.ID.Environment)
}
func (e Withdraw) String() string {
	return fmt.Sprintf("close the pull request for revision %s in environment %s", e.Revision, e.ID.Environment)
}
func (Announce) String() string { return "tell what has happened" }

// News is one transition, for people and for metrics.
type News struct {
	// Warning is for what somebody should look at.
	Warning bool
	// Reason is a CamelCase word: the state that a promotion has reached, or what has happened to a run or a request.
	Reason string
	// Message is a sentence.
	Message string
	// Environment, Strategy, From and To are set for transitions of promotions.
	Environment string
	Strategy    pipelines.StrategyName
	From, To    pipelines.PromotionState
}

// NewsRunCompleted is the reason of the news that a revision has reached the last environment.
const NewsRunCompleted = "RunCompleted"
