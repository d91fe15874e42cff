// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package request_test

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/execution"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/clitest"
	"espalier.dev/internal/testkit/managed"
	"espalier.dev/internal/testkit/traffic"
)

// planting is a blueprint that puts a ConfigMap into a cluster, and more deploy items.
func planting(name, namespace string, more ...string) string {
	return `apiVersion: landscaper.gardener.cloud/v1alpha1
kind: Blueprint
imports: [{name: place, type: target, targetType: landscaper.gardener.cloud/kubernetes-cluster}]
exports: [{name: word, type: data, schema: {}}]
exportExecutions:
- name: default
  type: GoTemplate
  template: "exports: {word: water}"
deployExecutions:
- name: default
  type: GoTemplate
  template: |
    deployItems:
    - name: planted
      type: landscaper.gardener.cloud/kubernetes-manifest
      target: {import: place}
      config:
        apiVersion: manifest.deployer.landscaper.gardener.cloud/v1alpha2
        kind: ProviderConfiguration
        manifests:
        - policy: manage
          manifest: {apiVersion: v1, kind: ConfigMap, metadata: {name: ` + name + `, namespace: ` + namespace + `}}
` + strings.Join(more, "")
}

// orphaned is a deploy item that no deployer takes.
const orphaned = `    - name: orphaned
      type: example.org/nobody
      dependsOn: [planted]
      config: {apiVersion: example.org/v1, kind: Configuration}
`

// Whatever holds a deletion up, force ends it: it says what stays, and that stays.
func TestJOB42_CON41_ForceEndsEveryDeletion(t *testing.T) {
	w := managed.NewWorld(t)
	w.Manage()
	w.Create(testkit.Target(w.Namespace, "place").Cluster(t, w.APIServer).Build())
	for name, change := range map[string]func(*testkit.InstallationBuilder){
		"job": func(b *testkit.InstallationBuilder) {
			b.Blueprint(planting("job", w.Namespace, orphaned)).Reconcile()
		},
		"flow": func(b *testkit.InstallationBuilder) {
			b.Blueprint(planting("flow", w.Namespace, orphaned)).Continuous()
		},
		"frozen": func(b *testkit.InstallationBuilder) {
			b.Blueprint(planting("frozen", w.Namespace)).Continuous().Annotate(lsv1alpha1.IgnoreAnnotation, "true")
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := testkit.Installation(w.Namespace, name).ImportTarget("place", "place").ExportData("word", name)
			change(b)
			root := b.Build()
			successor := testkit.Installation(w.Namespace, name+"-mill").ImportData("word", name).Build()
			w.Create(root, successor)
			if name == "frozen" {
				testkit.Eventually(t, w.APIServer, root, testkit.Is("done", func(i *lsv1alpha1.Installation) bool {
					return i.Status.Phase == lsv1alpha1.PhaseSucceeded
				}))
			} else {
				testkit.Eventually(t, w.APIServer, root, testkit.Is("at work", func(i *lsv1alpha1.Installation) bool {
					return i.Status.Phase == lsv1alpha1.PhaseProgressing
				}))
			}
			item := &lsv1alpha1.DeployItem{}
			item.Namespace, item.Name = w.Namespace, execution.ItemName(name, "planted")
			testkit.Eventually(t, w.APIServer, item, testkit.Is("deployed", func(i *lsv1alpha1.DeployItem) bool {
				return i.Status.Phase == lsv1alpha1.PhaseSucceeded
			}))
			got := clitest.Run(t, w.APIServer, w.Namespace, deletion(name, "--force", "--yes"))
			if got.Code != cli.ExitOK || got.Stdout != "installation "+name+" has been deleted\n" ||
				!strings.Contains(got.Stderr, "These objects stay in place, unmanaged:\n") || !strings.Contains(got.Stderr, "place    ConfigMap   ") ||
				!strings.Contains(got.Stderr, "Installation "+name+"-mill imports from "+name+", and loses these imports.\n") {
				t.Errorf("%+v", got)
			}
			planted := &corev1.ConfigMap{}
			if err := w.Client().Get(t.Context(), client.ObjectKey{Namespace: w.Namespace, Name: name}, planted); err != nil {
				t.Errorf("what was deployed: %v", err)
			}
			if left := itemsOf(t, w, name); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}

// itemsOf are the deploy items of an installation.
func itemsOf(t *testing.T, w *managed.World, name string) []lsv1alpha1.DeployItem {
	t.Helper()
	var list lsv1alpha1.DeployItemList
	of := client.MatchingLabels{lsv1alpha1.ExecutionManagedByLabel: name}
	if err := w.Client().List(t.Context(), &list, client.InNamespace(w.Namespace), of); err != nil {
		t.Fatal(err)
	}
	return list.Items
}

func TestForceAsksFirst(t *testing.T) {
	server, root := storeRoot(t, lsv1alpha1.PhaseSucceeded)
	for _, answer := range []string{"", "no\n", "y\n"} {
		call := deletion("shop", "--force")
		call.Stdin = answer
		got := clitest.Run(t, server, root.Namespace, call)
		if got.Code != cli.ExitError || got.Stdout != "" || !strings.Contains(got.Stderr, "not confirmed, so nothing was deleted") ||
			!strings.Contains(got.Stderr, "No objects are recorded that would stay in place.\n") {
			t.Errorf("%q: %+v", answer, got)
		}
	}
	testkit.Create(t, server, testkit.Installation(root.Namespace, "blog").Build())
	got := clitest.Run(t, server, root.Namespace, deletion("shop", "blog", "--force"))
	if got.Code != cli.ExitError || !strings.Contains(got.Stderr, "This deletes installations shop, blog and everything below") {
		t.Errorf("%+v", got)
	}
	if object := currentRoot(t, server, root); !object.DeletionTimestamp.IsZero() || len(object.Annotations) > 0 {
		t.Errorf("%+v", object.ObjectMeta)
	}
	for want, flags := range map[string][]string{
		"--yes only goes with --force": {"--yes"}, "omit --timeout=0": {"--force", "--timeout=0"},
	} {
		got := clitest.Run(t, server, root.Namespace, deletion(append([]string{"shop"}, flags...)...))
		if got.Code != cli.ExitError || !strings.Contains(got.Stderr, want) {
			t.Errorf("%q: %+v", flags, got)
		}
	}
}

// patched matches the commands that remove finalizers.
var patched = regexp.MustCompile(`kubectl patch (\w+) shop .*--type=merge -p '(.*)'`)

// No finalizer is removed: a user without controllers gets the commands, which leave the finalizers of others alone.
func TestForceWithoutControllers(t *testing.T) {
	server, root := storeRoot(t, lsv1alpha1.PhaseSucceeded)
	more := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":["`+lsv1alpha1.Finalizer+`","example.org/backup"]}}`))
	if err := server.Client().Patch(t.Context(), root, more); err != nil {
		t.Fatal(err)
	}
	tree := clitest.ExecutionOf(root)
	tree.Finalizers = []string{lsv1alpha1.Finalizer}
	clitest.Store(t, server, tree)
	call := deletion("shop", "--force", "--timeout=1s")
	call.Stdin = "yes\n"
	got := clitest.Run(t, server, root.Namespace, call)
	if got.Code != cli.ExitNeedsSomebody ||
		!strings.Contains(got.Stderr, "timed out waiting for the deletion of installation shop: the controllers do not answer") ||
		!strings.Contains(got.Stderr, "other controllers must remove their own finalizers: example.org/backup of installation shop") {
		t.Errorf("%+v", got)
	}
	object := currentRoot(t, server, root)
	if object.DeletionTimestamp.IsZero() || len(object.Finalizers) != 2 ||
		object.Annotations[lsv1alpha1.DeleteWithoutUninstallAnnotation] != "true" ||
		object.Annotations[lsv1alpha1.DeleteIgnoreSuccessorsAnnotation] != "true" {
		t.Errorf("%+v", object.ObjectMeta)
	}
	commands := patched.FindAllStringSubmatch(got.Stderr, -1)
	if len(commands) != 2 || commands[0][1] != "execution" || commands[1][1] != "installation" {
		t.Fatalf("%+v", got)
	}
	for i, object := range []client.Object{tree, object} {
		patch := client.RawPatch(types.MergePatchType, []byte(commands[i][2]))
		if err := server.Client().Patch(t.Context(), object, patch); err != nil {
			t.Fatalf("%s: %v", commands[i][2], err)
		}
		if err := server.Client().Patch(t.Context(), object, patch); !apierrors.IsConflict(err) {
			t.Errorf("a newer object is changed: %v", err)
		}
	}
	if len(tree.Finalizers) > 0 || !slices.Equal(object.Finalizers, []string{"example.org/backup"}) {
		t.Errorf("the finalizers are %v and %v", tree.Finalizers, object.Finalizers)
	}
	// Now only the others' are left.
	got = clitest.Run(t, server, root.Namespace, deletion("shop", "--force", "--yes", "--timeout=1s"))
	expectBlocked(t, got, "example.org/backup of installation shop")
}

// expectBlocked checks that a command has named the finalizers of others, and told nobody to remove any.
func expectBlocked(t *testing.T, got clitest.Result, finalizers string) {
	t.Helper()
	want := "timed out waiting for the deletion of installation shop: finalizers of other controllers block it: " + finalizers + "\n"
	if got.Code != cli.ExitNeedsSomebody || !strings.Contains(got.Stderr, want) || strings.Contains(got.Stderr, "kubectl patch") {
		t.Errorf("%+v", got)
	}
}

// The controllers write nothing to an installation that never ran and that another program keeps.
func TestForceNamesTheFinalizersOfOthers(t *testing.T) {
	server := testkit.Server(t)
	namespace := server.Namespace(t)
	root := testkit.Installation(namespace, "shop").Finalizer("resources-finalizer.argocd.argoproj.io").Build()
	testkit.Create(t, server, root)
	got := clitest.Run(t, server, namespace, deletion("shop", "--force", "--yes", "--timeout=1s"))
	expectBlocked(t, got, "resources-finalizer.argocd.argoproj.io of installation shop")
	release(t, server, root)
}

// Controllers that answer, and are not done, are another matter.
func TestForceWithBusyControllers(t *testing.T) {
	t.Run("the deletion fails", func(t *testing.T) {
		server, root := storeRoot(t, lsv1alpha1.PhaseSucceeded)
		command := clitest.Start(t, server, root.Namespace, deletion("shop", "--force", "--yes"))
		command.Until(t, "Installation/shop is being deleted")
		clitest.Controller{Server: server}.Write(t, root, func(s *lsv1alpha1.RunStatus) {
			*s = clitest.Status(lsv1alpha1.PhaseDeleteFailed, clitest.Error("SubObjectFailed", "execution shop is in phase DeleteFailed"))
		})
		if got := command.Wait(t); got.Code != cli.ExitFailed || strings.Contains(got.Stderr, "kubectl patch") {
			t.Errorf("%+v", got)
		}
	})
	t.Run("a job is still ending", func(t *testing.T) {
		server, root := storeRoot(t, lsv1alpha1.PhaseProgressing)
		tree := clitest.ExecutionOf(root)
		tree.Finalizers = []string{lsv1alpha1.Finalizer}
		clitest.Store(t, server, tree)
		front := newFront(t, server, http.MethodDelete, "/installations/shop", func(*http.Request) *http.Response {
			tree.Status.Phase = lsv1alpha1.PhaseCompleting
			if err := server.Client().Status().Update(t.Context(), tree); err != nil {
				t.Error(err)
			}
			return nil
		})
		got := clitest.Run(t, server, root.Namespace, deletion("shop", "--force", "--yes", "--timeout=1s", "--kubeconfig="+front))
		if got.Code != cli.ExitTimeout || !strings.Contains(got.Stderr, "installation shop is not done after 1s") ||
			strings.Contains(got.Stderr, "kubectl patch") || strings.Contains(got.Stderr, "do not answer") {
			t.Errorf("%+v", got)
		}
	})
}

// newFront starts an API server in front of another one, which calls a function before the first request of a kind, and answers it unless
// the function returns nil. It returns the file with the kubeconfig.
func newFront(t *testing.T, server *testkit.APIServer, method, path string, first func(*http.Request) *http.Response) string {
	t.Helper()
	var once sync.Once
	return clitest.Front(t, server, func(request *http.Request) (answer *http.Response) {
		if request.Method == method && strings.HasSuffix(request.URL.Path, path) {
			once.Do(func() { answer = first(request) })
		}
		return answer
	})
}

// A deletion that waits for a frozen object below has started nonetheless.
func TestForceSaysWhatStaysFrozen(t *testing.T) {
	server, root := storeRoot(t, lsv1alpha1.PhaseSucceeded)
	tree := clitest.ExecutionOf(root)
	tree.Annotations = map[string]string{lsv1alpha1.IgnoreAnnotation: "true"}
	clitest.Store(t, server, tree)
	front := newFront(t, server, http.MethodPatch, "/executions/shop", func(request *http.Request) *http.Response {
		return traffic.Refusal(request, http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable)
	})
	got := clitest.Run(t, server, root.Namespace, deletion("shop", "--force", "--yes", "--kubeconfig="+front))
	if got.Code != cli.ExitError ||
		!strings.Contains(got.Stderr, "cannot unfreeze execution shop of installation shop, whose deletion has started: no\n") {
		t.Errorf("%+v", got)
	}
	if object := currentRoot(t, server, root); object.DeletionTimestamp.IsZero() {
		t.Error("it has not started")
	}
}
