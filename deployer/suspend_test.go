// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package deployer_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/deployer"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/traffic"
)

// tree creates installations, each nested in the one before, and an execution of the last. It returns the root, and what puts a deploy item
// below the execution.
func (w *world) tree(names ...string) (*lsv1alpha1.Installation, func(*lsv1alpha1.DeployItem)) {
	w.Helper()
	var root, last *lsv1alpha1.Installation
	for _, name := range names {
		b := testkit.Installation(w.Namespace, name)
		if last == nil {
			root = b.Build()
			last = root
		} else {
			last = b.Label(lsv1alpha1.EncompassedByLabel, last.Name).Build()
		}
		w.Create(last)
	}
	execution := testkit.Execution(w.Namespace, last.Name).Build()
	owner := lsv1alpha1.SchemeGroupVersion.WithKind("Installation")
	execution.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(last, owner)}
	w.Create(execution)
	return root, func(item *lsv1alpha1.DeployItem) {
		item.Labels = map[string]string{lsv1alpha1.ExecutionManagedByLabel: execution.Name}
	}
}

// observed is the connection of a process whose requests are observed.
func (w *world) observed() (*rest.Config, *traffic.Traffic) {
	observer, connection := traffic.New(), rest.CopyConfig(w.Config())
	connection.Wrap(observer.Wrap)
	return connection, observer
}

// asks waits until a deployer has read an installation so many times, or has repaired something, which a test may not expect.
func (c *caring) asks(t *testing.T, observer *traffic.Traffic, name string, times int) {
	t.Helper()
	observer.Await(t, "reads of installation "+name, func(tr *traffic.Traffic) bool {
		return tr.Number("/installations/"+name) >= times || len(c.repairs()) > 0
	})
}

func TestCON10_ASuspendedTreeIsNotRepaired(t *testing.T) {
	for name, installations := range map[string][]string{"below the root": {"root"}, "below a nested installation": {"root", "nested", "inner"}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			root, below := w.tree(installations...)
			w.Annotate(root, lsv1alpha1.SuspendAnnotation, "true")
			c := &caring{script: []func(deployer.Work) (deployer.Progress, error){put("north")}}
			connection, observer := w.observed()
			w.runOver(connection, c, deployer.Options{})
			item := w.succeeds(w.item("db", below))
			c.asks(t, observer, "root", 3)
			if got := c.repairs(); len(got) > 0 {
				t.Errorf("repairs of a suspended tree: %q", got)
			}
			w.Annotate(root, lsv1alpha1.SuspendAnnotation, "false")
			w.tells(item, "Repaired", "put north right")
		})
	}
}

// As long as the API server does not say whether the root is suspended, nothing is repaired. Without the right to read it, the deployer
// cannot know that it is.
func TestNothingIsRepairedWhileTheRootIsUnknown(t *testing.T) {
	for name, c := range map[string]struct {
		code   int
		reason metav1.StatusReason
		known  bool
	}{
		"unavailable": {code: http.StatusServiceUnavailable, reason: metav1.StatusReasonServiceUnavailable},
		"timed out":   {code: http.StatusGatewayTimeout, reason: metav1.StatusReasonTimeout},
		"forbidden":   {code: http.StatusForbidden, reason: metav1.StatusReasonForbidden, known: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			_, below := w.tree("root")
			d := &caring{script: []func(deployer.Work) (deployer.Progress, error){put("north")}}
			connection, observer := w.observed()
			observer.AnswerWith(func(request *http.Request) *http.Response {
				if strings.HasSuffix(request.URL.Path, "/installations/root") {
					return traffic.Refusal(request, c.code, c.reason)
				}
				return nil
			})
			w.runOver(connection, d, deployer.Options{})
			item := w.succeeds(w.item("db", below))
			if !c.known {
				d.asks(t, observer, "root", 2)
				if got := d.repairs(); len(got) > 0 {
					t.Errorf("repairs: %q", got)
				}
				observer.AnswerWith(nil)
			}
			w.tells(item, "Repaired", "put north right")
		})
	}
}

// lasting is a deployer whose only repair takes two calls. After the first one, a user suspends the tree.
type lasting struct {
	patient
	suspend func()
	wakes   bool
}

func isBegun(item *lsv1alpha1.DeployItem) bool {
	return item.Status.ProviderStatus != nil && strings.Contains(string(item.Status.ProviderStatus.Raw), "begun")
}

func (l *lasting) Repair(_ context.Context, work deployer.Work) (deployer.Progress, error) {
	if isBegun(work.Item) {
		return deployer.Progress{Done: true, Repaired: "took its time", ProviderStatus: remembered("ended")}, nil
	}
	if l.suspend(); l.wakes {
		defer work.Wake()
	}
	return deployer.Progress{Recheck: time.Hour, ProviderStatus: remembered("begun")}, nil
}

// durable recognises its repairs after a restart.
type durable struct{ lasting }

func (d *durable) IsRepairing(item *lsv1alpha1.DeployItem) bool { return isBegun(item) }

func TestCON10_ARepairThatHasStartedContinuesInASuspendedTree(t *testing.T) {
	for name, restarts := range map[string]bool{"in the same process": false, "in another process": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			root, below := w.tree("root")
			long := &durable{}
			long.suspend, long.wakes = func() { w.Annotate(root, lsv1alpha1.SuspendAnnotation, "true") }, !restarts
			var d deployer.Deployer = long
			if !restarts {
				d = &long.lasting
			}
			stop := w.run(d, deployer.Options{})
			item := w.succeeds(w.item("db", below))
			if restarts {
				testkit.Eventually(t, w.APIServer, item, testkit.Is("begun", isBegun))
				stop()
				w.run(d, deployer.Options{})
			}
			w.tells(item, "Repaired", "took its time")
		})
	}
}
