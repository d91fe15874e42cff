// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installations

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/deployer"
	"espalier.dev/internal/artifact"
	"espalier.dev/internal/blueprint"
	"espalier.dev/internal/catalog"
	"espalier.dev/internal/confidential"
	"espalier.dev/internal/controller/ending"
	"espalier.dev/internal/controller/requests"
	"espalier.dev/internal/freshness"
	"espalier.dev/internal/installation"
	"espalier.dev/internal/loop"
)

// Name is the name of the controller.
const Name = "installations"

// VerificationPolicy determines when signatures of components are checked.
type VerificationPolicy = catalog.VerificationPolicy

// VerificationPolicies lists all policies, the default first.
var VerificationPolicies = catalog.VerificationPolicies

// Options configure the controller.
type Options struct {
	// Workers is how many installations are reconciled concurrently.
	Workers int
	// KeyNamespace is the namespace of the Secret with the key for hashes of imports.
	KeyNamespace string
	// Registries provides components and blueprints that are not inline; Git provides other blueprints.
	Registries *artifact.Registries
	Git        *artifact.Git
	// Verification determines when signatures are checked.
	Verification VerificationPolicy
	// Quotas are the defaults for namespaces that set none.
	Quotas Limits
	// Clock defaults to the real clock.
	Clock clock.PassiveClock
}

type installationLoop = loop.Loop[*lsv1alpha1.Installation, installation.Observed, lsv1alpha1.Phase, installation.Effect]

//espalier:rights installations
//	list,watch installations: the objects that it works on, with those beside and below them
//	list,watch executions: it waits for the executions of installations
//	list,watch dataobjects,targets: what installations import and export
//	list,watch secrets,configmaps: to detect changes of imports; only metadata is cached

// Setup adds the controller to a manager.
func Setup(mgr ctrl.Manager, options Options) error {
	mgr = freshness.Of(mgr)
	if err := addIndexes(mgr); err != nil {
		return fmt.Errorf("set up controller %s: %w", Name, err)
	}
	if options.Clock == nil {
		options.Clock = clock.RealClock{}
	}
	clusters, err := deployer.NewClusters(mgr)
	if err != nil {
		return fmt.Errorf("set up controller %s: %w", Name, err)
	}
	engine := blueprint.NewEngine()
	k := &kind{
		cluster:    mgr.GetClient(),
		live:       mgr.GetAPIReader(),
		remembers:  freshness.Remembers(mgr.GetClient()),
		engine:     engine,
		catalog:    catalog.New(engine),
		registries: options.Registries,
		policy:     options.Verification,
		keys:       &hashKey{cluster: mgr.GetClient(), live: mgr.GetAPIReader(), namespace: options.KeyNamespace},
		contents:   newContents(mgr.GetClient(), mgr.GetAPIReader()),
		git:        options.Git,
		clusters:   clusters,
		namespaces: ending.Of(mgr),
		recorder:   mgr.GetEventRecorder(Name),
		quotas:     newQuotas(mgr.GetClient(), options.Quotas),
	}
	l := &installationLoop{
		Name:   Name,
		Kind:   k,
		New:    func() *lsv1alpha1.Installation { return &lsv1alpha1.Installation{} },
		Reader: mgr.GetClient(),
		Writer: mgr.GetClient(),
		Clock:  options.Clock,
		Announce: warningsTo(
			mgr.GetEventRecorder(Name),
			endsTo(loop.EventsTo[*lsv1alpha1.Installation, lsv1alpha1.Phase](mgr.GetEventRecorder(Name))),
		),
		Confidential: confidential.Reader{Live: mgr.GetAPIReader()}.OfInstallation,
	}
	w := waker{reader: mgr.GetClient(), losses: &k.losses, division: loop.DivisionOf(mgr)}
	err = k.quotas.watch(ending.Watch(l.Controller(mgr, options.Workers), mgr.GetClient(), &lsv1alpha1.InstallationList{})).
		Watches(&lsv1alpha1.Installation{}, loop.Urgent(w.relatives), builder.WithPredicates(matters())).
		Watches(&lsv1alpha1.Execution{}, loop.Urgent(parentOfExecution), builder.WithPredicates(matters())).
		Watches(&lsv1alpha1.DataObject{}, handler.EnqueueRequestsFromMapFunc(w.importers(kindDataObject)), builder.WithPredicates(appears())).
		Watches(&lsv1alpha1.Target{}, handler.EnqueueRequestsFromMapFunc(w.importers(kindTarget)), builder.WithPredicates(appears())).
		Watches(&lsv1alpha1.DataObject{}, handler.EnqueueRequestsFromMapFunc(w.givers(kindDataObject)), builder.WithPredicates(vanishes())).
		Watches(&lsv1alpha1.Target{}, handler.EnqueueRequestsFromMapFunc(w.givers(kindTarget)), builder.WithPredicates(vanishes())).
		Watches(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(w.importersOfSecret), builder.OnlyMetadata).
		Watches(&corev1.ConfigMap{}, handler.EnqueueRequestsFromMapFunc(w.importers(kindConfigMap)), builder.OnlyMetadata).
		Complete(l)
	if err == nil {
		err = requests.Setup(mgr, requests.Kind[*lsv1alpha1.Installation]{
			Name: Name, New: func() *lsv1alpha1.Installation { return &lsv1alpha1.Installation{} },
			Obeys:  installation.Obeys,
			Status: func(i *lsv1alpha1.Installation) *lsv1alpha1.RunStatus { return &i.Status.RunStatus },
		})
	}
	if err != nil {
		return fmt.Errorf("set up controller %s: %w", Name, err)
	}
	return nil
}

// kind is the shell of installations: all of their reads and writes.
type kind struct {
	cluster client.Client
	// live reads from the API server.
	live client.Reader
	// remembers means that the cache contains everything that this process, or an earlier leader, has written.
	remembers  bool
	engine     *blueprint.Engine
	catalog    *catalog.Catalog
	registries *artifact.Registries
	policy     catalog.VerificationPolicy
	keys       *hashKey
	contents   *contents
	git        *artifact.Git
	// clusters are those of Targets, which templates may call.
	clusters   *deployer.Clusters
	namespaces ending.Namespaces
	losses     losses
	recorder   events.EventRecorder
	quotas     *quotas
}

// Phase implements loop.Kind.
func (k *kind) Phase(inst *lsv1alpha1.Installation) lsv1alpha1.Phase { return inst.Status.Phase }

// Status implements loop.Kind.
func (k *kind) Status(inst *lsv1alpha1.Installation) any { return &inst.Status }

// Decide implements loop.Kind.
func (k *kind) Decide(o installation.Observed) installation.Decision { return installation.Decide(o) }

// Settle implements loop.Kind.
func (k *kind) Settle(inst *lsv1alpha1.Installation, o installation.Observed, d installation.Decision, err error) installation.Observed {
	o = installation.Settle(inst, o, d, err)
	if d.Wait || err != nil {
		k.quotas.settled(inst)
	}
	return o
}
