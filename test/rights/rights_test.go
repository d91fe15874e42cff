// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package rights_test

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/manager"
	"espalier.dev/internal/rights"
	"espalier.dev/internal/testkit"
)

// Everything runs with the roles of config/rbac and does everything that it can do. No request is denied, and no right is unused.
func TestTheRolesHaveTheRightsThatAreUsed(t *testing.T) {
	e := newEstate(t, testkit.Server(t))
	e.InstallCRD(t, append(testkit.FluxKinds(t), testkit.FluxAlerts(), terraformKind())...)
	e.run(t)
	t.Run("workload", func(t *testing.T) {
		for name, do := range map[string]func(*scene){
			"jobs":               (*scene).jobs,
			"states":             (*scene).states,
			"continuous flow":    (*scene).continuous,
			"errors":             (*scene).errors,
			"executions by hand": (*scene).executionByHand,
			"repairs":            (*scene).repairs,
			"without uninstall":  (*scene).withoutUninstall,
			"requests":           (*scene).requests,
			"end of a namespace": (*scene).endOfANamespace,
			"target syncs":       (*scene).targetSyncs,
			"promotions":         (*scene).promotions,
			"other kinds":        (*scene).otherKinds,
			"other clusters":     (*scene).otherClusters,
			"installations":      (*scene).promotedInstallations,
			"web UI":             (*scene).webUI,
			"people":             (*scene).people,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				do(e.scene(t))
			})
		}
	})
	e.check(t)
}

// scene is a namespace with a user.
type scene struct {
	*testkit.World
	estate *estate
}

func (e *estate) scene(t *testing.T) *scene {
	t.Helper()
	return &scene{World: testkit.WorldOn(t, e.APIServer), estate: e}
}

// clusters creates the Target cluster, which leads back as a service account of the namespace, and the Target spare with a kubeconfig in a
// Secret.
func (s *scene) clusters() {
	s.Helper()
	s.Create(
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "deployer"}},
		&rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "deployer"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: s.Namespace, Name: "deployer"}},
		},
		s.secret("access", "kubeconfig", s.adminKubeconfig()),
		testkit.Target(s.Namespace, "spare").Secret("access", "kubeconfig").Build(),
		testkit.Target(s.Namespace, "cluster").
			Config(map[string]any{"selfConfig": map[string]any{"serviceAccount": map[string]any{"name": "deployer"}}}).
			Build(),
	)
	s.estate.bind(s.T, s.Namespace, rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: rights.Prefix + "tokens"},
		"installations", "pipelines", "deployer-manifest", "deployer-helm")
}

// adminKubeconfig leads to the API server, as if it was another one.
func (s *scene) adminKubeconfig() string {
	s.Helper()
	text, err := os.ReadFile(s.Kubeconfig())
	if err != nil {
		s.Fatal(err)
	}
	return string(text)
}

func (s *scene) secret(name, key, value string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name}, Data: map[string][]byte{key: []byte(value)}}
}

func (s *scene) configMap(name, key, value string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name}, Data: map[string]string{key: value}}
}

func (s *scene) installation(name string) *lsv1alpha1.Installation {
	return &lsv1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name}}
}

// finished waits until an installation has finished the last requested job in a phase.
func (s *scene) finished(name string, phase lsv1alpha1.Phase) {
	s.Helper()
	testkit.EventuallyFinished(s.T, s.APIServer, s.installation(name), phase)
}

// again requests a job and waits until it succeeds.
func (s *scene) again(name string) {
	s.Helper()
	s.Annotate(s.installation(name), lsv1alpha1.OperationAnnotation, string(lsv1alpha1.OperationReconcile))
	s.finished(name, lsv1alpha1.PhaseSucceeded)
}

// removed deletes an object and waits until it is gone.
func (s *scene) removed(object client.Object) {
	s.Helper()
	s.Delete(object)
	testkit.EventuallyGone(s.T, s.APIServer, object)
}

// Every controller has a role with its name, so that no process needs those of others.
func TestEveryControllerHasARole(t *testing.T) {
	var have, want []string
	for _, role := range rights.Roles() {
		if role.File == rights.ControllerFile {
			have = append(have, role.Name)
		}
	}
	for _, controller := range manager.Controllers() {
		want = append(want, controller.Name)
	}
	if difference := cmp.Diff(want, have); difference != "" {
		t.Errorf("the controllers and their roles (-controllers +roles)\n%s", difference)
	}
}
