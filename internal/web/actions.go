// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/installation"
	"espalier.dev/internal/objecttree"
	"espalier.dev/internal/steer"
	"espalier.dev/internal/version"
	"espalier.dev/internal/web/rights"
	"espalier.dev/internal/web/view"
)

// register registers the calls of the pages.
func (s *Server) register(mux *http.ServeMux) {
	for _, c := range s.calls() {
		mux.HandleFunc(c.Method+" "+c.Path, c.do)
	}
	mux.HandleFunc("/api/", func(w http.ResponseWriter, _ *http.Request) {
		writeProblem(w, &problem{Status: http.StatusNotFound, Message: "No such call, or not with this method. See docs/ui.md."})
	})
}

// me is the user who is logged in, and the cluster.
type me struct {
	User    string   `json:"user"`
	Groups  []string `json:"groups"`
	Mode    Mode     `json:"mode"`
	Version string   `json:"version"`
	Cluster string   `json:"cluster"`
	ways
}

func (s *Server) me(r *http.Request, by caller) (any, error) {
	name, groups, err := by.reader.name(r.Context())
	if err != nil && s.options.Mode == Cluster {
		return nil, attempt{what: "find out who you are"}.refusal(err)
	}
	cluster := s.options.ClusterName
	if cluster == "" {
		cluster = s.options.Config.Host
	}
	return me{
		User: name, Groups: slices.Concat([]string{}, groups), Mode: s.options.Mode, Version: version.Get().Version,
		Cluster: cluster, ways: s.ways(),
	}, nil
}

// wish is a requested action on an object.
type wish struct {
	Action      string   `json:"action"`
	Ref         view.Ref `json:"ref"`
	Environment string   `json:"environment"`
	Revision    string   `json:"revision"`
	Reason      string   `json:"reason"`
}

func (w wish) key() client.ObjectKey {
	return client.ObjectKey{Namespace: w.Ref.Namespace, Name: w.Ref.Name}
}

// said is the result of an action.
type said struct {
	Message string `json:"message"`
}

var (
	patchInstallations = rights.Right{Verb: "patch", Group: lsv1alpha1.GroupName, Resource: "installations"}
	deleteInstallation = rights.Right{Verb: "delete", Group: lsv1alpha1.GroupName, Resource: "installations"}
	patchPipelines     = rights.Right{Verb: "patch", Group: pipelines.GroupName, Resource: "pipelines"}
	approvePipelines   = rights.Right{Verb: steer.DecisionVerb, Group: pipelines.GroupName, Resource: "pipelines"}
)

// action carries out a wish with the rights of the user.
type action struct {
	kind  string
	right rights.Right
	do    func(s *Server, ctx context.Context, ask steer.Asker, w wish) (string, error)
}

var actions = map[string]action{
	"reconcile": {"Installation", patchInstallations, (*Server).reconcile},
	"force":     {"Installation", patchInstallations, (*Server).force},
	"interrupt": {"Installation", patchInstallations, (*Server).interrupt},
	"abort":     {"Installation", patchInstallations, (*Server).interrupt},
	"delete":    {"Installation", deleteInstallation, (*Server).remove},
	"approve":   {"Pipeline", approvePipelines, (*Server).decide},
	"reject":    {"Pipeline", approvePipelines, (*Server).decide},
	"promote":   {"Pipeline", approvePipelines, (*Server).decide},
	"retry":     {"Pipeline", approvePipelines, (*Server).decide},
	"hold":      {"Pipeline", patchPipelines, (*Server).changeHold},
	"release":   {"Pipeline", patchPipelines, (*Server).changeHold},
}

// maxReason is the maximum length of the reason for a decision, which becomes an annotation.
const maxReason = 2000

func (s *Server) act(r *http.Request, by caller) (any, error) {
	wanted, err := body[wish](r)
	if err != nil {
		return nil, err
	}
	what, known := actions[wanted.Action]
	switch {
	case !known:
		return nil, invalid("There is no action %q.", wanted.Action)
	case wanted.Ref.Kind != what.kind || wanted.Ref.Namespace == "" || wanted.Ref.Name == "":
		return nil, invalid("Action %s applies to one %s: specify its kind, namespace and name.", wanted.Action, what.kind)
	case len(wanted.Reason) > maxReason:
		return nil, invalid("The reason has %d characters; %d is the limit.", len(wanted.Reason), maxReason)
	}
	message, err := what.do(s, r.Context(), steer.Asker{Client: by.reader.client}, wanted)
	if err != nil {
		return nil, attempt{
			right: what.right, namespace: wanted.Ref.Namespace, what: fmt.Sprintf("%s %s", wanted.Action, wanted.Ref.Name),
		}.refusal(err)
	}
	s.options.Log.Info("Action requested in the web UI", "action", wanted.Action, "user", by.session.User.Name,
		"kind", wanted.Ref.Kind, "namespace", wanted.Ref.Namespace, "name", wanted.Ref.Name)
	return said{Message: message}, nil
}

// root reads the installation of a wish. It rejects nested ones, because jobs run through whole trees.
func (s *Server) root(ctx context.Context, ask steer.Asker, w wish) (*lsv1alpha1.Installation, error) {
	root, err := ask.ReadInstallation(ctx, w.key())
	if err != nil {
		return nil, attempt{right: getRight(lsv1alpha1.GroupName, "installations"), namespace: w.Ref.Namespace}.refusal(err)
	}
	if parent := objecttree.ParentOf(root); parent != "" {
		return nil, invalid("Installation %s is nested in %s, and jobs run through whole trees. Use its root.", root.Name, parent)
	}
	return root, nil
}

func (s *Server) reconcile(ctx context.Context, ask steer.Asker, w wish) (string, error) {
	return s.operate(ctx, ask, w, ask.Reconcile)
}

func (s *Server) force(ctx context.Context, ask steer.Asker, w wish) (string, error) {
	return s.operate(ctx, ask, w, ask.Force)
}

func (s *Server) operate(
	ctx context.Context, ask steer.Asker, w wish,
	start func(context.Context, *lsv1alpha1.Installation) (*lsv1alpha1.Installation, bool, error),
) (string, error) {
	root, err := s.root(ctx, ask, w)
	if err != nil {
		return "", err
	}
	if !root.DeletionTimestamp.IsZero() && !objecttree.NodeOf(root).DeletionFailed() {
		return "", &problem{Status: http.StatusConflict, Message: fmt.Sprintf("Installation %s is being deleted: it gets no new job.", root.Name)}
	}
	if w.Action == "force" && installation.FlowOf(root) != lsv1alpha1.FlowContinuous {
		return "", &problem{
			Status:  http.StatusConflict,
			Message: fmt.Sprintf("Installation %s is in the job flow, where nothing can be forced. Reconcile it.", root.Name),
		}
	}
	asked, already, err := start(ctx, root)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s %s.", root.Name, saidOfRequest(asked, already)), nil
}

// saidOfRequest completes the sentence that starts with the installation's name.
func saidOfRequest(asked *lsv1alpha1.Installation, already bool) string {
	if s := installation.SuspensionOf(asked); s.On && asked.DeletionTimestamp.IsZero() {
		return "is " + s.String() + ": what is requested starts when it is resumed"
	}
	text := "will run a job"
	if already {
		text = "already has this request"
	}
	if !asked.Status.IsFinished() && installation.FlowOf(asked) != lsv1alpha1.FlowContinuous {
		text += ", which starts when the running one has finished"
	}
	return text
}

func (s *Server) interrupt(ctx context.Context, ask steer.Asker, w wish) (string, error) {
	root, err := s.root(ctx, ask, w)
	if err != nil {
		return "", err
	}
	continuous := installation.FlowOf(root) == lsv1alpha1.FlowContinuous
	if root.Status.IsFinished() && !continuous || root.Status.Phase.IsCompleted() && continuous {
		return "", &problem{Status: http.StatusConflict, Message: fmt.Sprintf("%s has no job to interrupt.", root.Name)}
	}
	dropped, err := ask.Interrupt(ctx, root)
	if err != nil {
		return "", err
	}
	if dropped {
		return root.Name + " is interrupted. The request for another job is removed; reconcile to request it again.", nil
	}
	return root.Name + " is interrupted.", nil
}

func (s *Server) remove(ctx context.Context, ask steer.Asker, w wish) (string, error) {
	root, err := s.root(ctx, ask, w)
	if err != nil {
		return "", err
	}
	again, failed := !root.DeletionTimestamp.IsZero(), objecttree.NodeOf(root).DeletionFailed()
	if err := ask.Delete(ctx, root, false); err != nil {
		return "", err
	}
	if !again {
		return root.Name + " is being deleted.", nil
	}
	if !failed {
		return root.Name + " is already being deleted.", nil
	}
	if _, _, err := ask.Reconcile(ctx, root); err != nil {
		return "", err
	}
	return "An earlier deletion of " + root.Name + " failed; retrying.", nil
}

func (s *Server) line(ctx context.Context, ask steer.Asker, w wish) (*pipelines.Pipeline, error) {
	p, err := ask.ReadPipeline(ctx, w.key())
	return p, attempt{right: getRight(pipelines.GroupName, "pipelines"), namespace: w.Ref.Namespace}.refusal(err)
}

func (s *Server) decide(ctx context.Context, ask steer.Asker, w wish) (string, error) {
	p, err := s.line(ctx, ask, w)
	if err != nil {
		return "", err
	}
	outcome, err := ask.Decide(ctx, p, steer.Decision{
		Action: pipelines.RequestAction(w.Action), Environment: w.Environment, Revision: w.Revision, Message: w.Reason, Time: s.options.Now(),
	})
	switch {
	case err != nil:
		return "", err
	case outcome.Made:
		return upper(outcome.Answer), nil
	case outcome.Already:
		return fmt.Sprintf("%s already has a request to %s %s for %s.", p.Name, w.Action, outcome.Request.Revision, w.Environment), nil
	}
	return fmt.Sprintf("%s: requested to %s %s for %s.", p.Name, w.Action, outcome.Request.Revision, w.Environment), nil
}

func (s *Server) changeHold(ctx context.Context, ask steer.Asker, w wish) (string, error) {
	p, err := s.line(ctx, ask, w)
	if err != nil {
		return "", err
	}
	change := steer.HoldChange{Environment: w.Environment, Message: w.Reason, Release: w.Action == "release", Time: s.options.Now()}
	if change.Release {
		change.Message = ""
	}
	changed, err := ask.Hold(ctx, p, change)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s: %s.", p.Name, steer.SaidOfHold(change, changed)), nil
}
