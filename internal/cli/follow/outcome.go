// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"fmt"

	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/display"
	"espalier.dev/internal/explain"
	"espalier.dev/internal/objecttree"
)

// Outcome is what programs learn about one wait.
type Outcome struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	JobID     string `json:"jobID,omitempty"`
	Phase     string `json:"phase,omitempty"`
	// ExitCode is what the command would have ended with if there had been no other wait.
	ExitCode int    `json:"exitCode"`
	Verdict  string `json:"verdict"`
	// Causes are the objects because of which the installation has failed or is not done.
	Causes []*objecttree.View `json:"causes,omitempty"`
	// Reference is the place in the documentation that explains the first cause.
	Reference string `json:"reference,omitempty"`
}

// outcomes is what is printed for programs.
type outcomes struct {
	Results []Outcome `json:"results"`
}

// conclude prints how each wait ended and returns the error that the command ends with.
func (r *waiting) conclude() error {
	if r.outdated == nil {
		r.judgeAll() // The time may have been up before events told what the objects say by now.
	}
	forest := r.objects.Forest()
	var all outcomes
	var problems []*cli.Problem
	for _, a := range r.Awaited {
		node := forest.Installation(r.Namespace, a.Name)
		chains := r.causes(node)
		end := r.ends[a.Name]
		if end == nil {
			end = r.timedOut(node, chains)
		}
		outcome := Outcome{
			Namespace: r.Namespace,
			Name:      a.Name,
			JobID:     end.JobID,
			Phase:     string(end.Phase),
			ExitCode:  end.Code,
			Verdict:   end.Verdict,
		}
		if end.Code != cli.ExitOK {
			problem := r.problem(a, end, chains)
			for _, chain := range chains {
				outcome.Causes = append(outcome.Causes, chain.Cause().Node.View())
			}
			outcome.Reference = problem.See
			problems = append(problems, problem)
		}
		all.Results = append(all.Results, outcome)
	}
	if err := r.print(all); err != nil {
		return err
	}
	return cli.Together(problems, nil)
}

func (r *waiting) causes(node *objecttree.Node) []explain.Chain {
	if node == nil {
		return nil
	}
	return explain.Find(node, r.controllers)
}

// timedOut judges a wait that had no other end. It says so if a person must act.
func (r *waiting) timedOut(node *objecttree.Node, chains []explain.Chain) *End {
	end := &End{Code: cli.ExitTimeout, Verdict: fmt.Sprintf("is not done after %s", r.Timeout)}
	if node != nil {
		end.JobID, end.Phase = node.Status.JobID, node.Status.Phase
		end.Verdict += ", in phase " + node.Phase()
	}
	if r.outdated != nil {
		end.Verdict += " when last seen: the API server does not respond"
	}
	if len(chains) > 0 && explain.AdviceFor(chains[0]).Somebody && chains[0].Cause().Node.State() != objecttree.Failed {
		end.Code = cli.ExitNeedsSomebody
		end.Verdict += "; needs action by a user"
	}
	return end
}

func (r *waiting) problem(a Awaited, end *End, chains []explain.Chain) *cli.Problem {
	problem := &cli.Problem{Code: end.Code, What: fmt.Sprintf("installation %s %s", a.Name, end.Verdict), Where: r.Access.Where(r.Namespace)}
	if len(chains) > 0 {
		problem.What += ": " + display.Clean(reason(chains[0]))
		problem.Reason = chains[0].Cause().Reason
		problem.See = explain.Reference(chains[0].Cause())
	}
	switch end.Code {
	case cli.ExitNotFound:
		problem.Next = []string{r.Access.Suggest(r.Namespace, "get")}
	case cli.ExitTimeout:
		problem.Next = append([]string{r.Access.Suggest(r.Namespace, "why", a.Name)}, r.again()...)
	case cli.ExitNeedsSomebody:
		problem.Next = r.adviceFor(a, chains)
	default:
		problem.Next = []string{r.Access.Suggest(r.Namespace, "why", a.Name)}
	}
	return problem
}

// reason summarises a chain; an installation that is its own cause need not be named again.
func reason(chain explain.Chain) string {
	if len(chain) == 1 {
		return explain.Message(chain.Cause())
	}
	return explain.Sentence(chain)
}

func (r *waiting) adviceFor(a Awaited, chains []explain.Chain) []string {
	if _, deletion := a.Goal.(*Gone); deletion && r.ends[a.Name] != nil {
		return []string{r.Access.Suggest(r.Namespace, "delete", a.Name, "--wait")}
	}
	if len(chains) == 0 {
		return nil
	}
	return r.Access.Commands(r.Namespace, explain.AdviceFor(chains[0]))
}

func (r *waiting) print(all outcomes) error {
	printer := display.To(r.Env, r.Env.Out)
	if r.Format.IsData() {
		return printer.Data(all, r.Format)
	}
	for _, outcome := range all.Results {
		if outcome.ExitCode != cli.ExitOK {
			continue // It stands in the error.
		}
		line := display.Clean(fmt.Sprintf("installation %s %s", outcome.Name, outcome.Verdict))
		if r.Format == display.FormatName {
			line = display.ResourceName(objecttree.Installation, outcome.Name)
		}
		if err := printer.Lines(line); err != nil {
			return err
		}
	}
	return nil
}
