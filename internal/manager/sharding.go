// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"espalier.dev/internal/shard"
)

var shardMetric = prometheus.NewGaugeVec(prometheus.GaugeOpts{
	Name: "espalier_shard",
	Help: "1 for the shard that the process works on, or waits for, and the number of all shards. " +
		"It is missing if the process does not share the work.",
}, []string{"shard", "shards"})

func init() { metrics.Registry.MustRegister(shardMetric) }

// part is the shard of this process.
func (o *Options) part() shard.Shard {
	s, _ := shard.Parse(o.Shard) // Validate has seen it.
	return s
}

// electShard has a process that shares the work wait for its shard only.
func (o *Options) electShard(config *rest.Config, options *ctrl.Options) error {
	if o.part().IsAll() || !o.LeaderElection.Enabled {
		return nil
	}
	lock, err := newShardLock(config, *o, o.part())
	if err != nil {
		return err
	}
	options.LeaderElectionResourceLockInterface = lock
	return nil
}

// divide returns a manager whose controllers work on the shard of this process only.
func (o *Options) divide(mgr ctrl.Manager) (ctrl.Manager, error) {
	s := o.part()
	if s.IsAll() {
		return mgr, nil
	}
	shardMetric.WithLabelValues(strconv.Itoa(s.Number), strconv.Itoa(s.Of)).Set(1)
	// Whoever looks at what a process is ready for sees its shard.
	if err := mgr.AddReadyzCheck(fmt.Sprintf("shard-%d-of-%d", s.Number, s.Of), healthz.Ping); err != nil {
		return nil, fmt.Errorf("add health checks: %w", err)
	}
	return divided{Manager: mgr, division: &division{shard: s, cache: mgr.GetCache(), live: mgr.GetAPIReader()}}, nil
}

// shardLock is the lease of a process that shares the work with others. All of them are recorded in the Lease that a process has which does
// all of the work, so that neither works beside the other. Each write carries the version that was read: of two processes that want the
// same trees one gets them, also if they differ in how many shards there are.
type shardLock struct {
	leases   coordinationclient.LeaseInterface
	meta     metav1.ObjectMeta
	shard    shard.Shard
	identity string
	// lease is as it was read or written last.
	lease *coordinationv1.Lease
}

var _ resourcelock.Interface = &shardLock{}

// newShardLock returns the lease of a process.
func newShardLock(config *rest.Config, opts Options, s shard.Shard) (*shardLock, error) {
	l := opts.LeaderElection
	namespace := l.Namespace
	if namespace == "" {
		text, err := os.ReadFile(podNamespaceFile)
		if err != nil {
			return nil, errors.New("--leader-elect-namespace is required outside of a cluster")
		}
		namespace = strings.TrimSpace(string(text))
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("find out the name of the host: %w", err)
	}
	config = rest.AddUserAgent(config, "leader-election")
	config.Timeout = max(l.RenewDeadline/2, time.Second) // so that one request that hangs does not cost the lease
	client, err := coordinationclient.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("build a client for the lease: %w", err)
	}
	return &shardLock{
		leases: client.Leases(namespace), meta: metav1.ObjectMeta{Namespace: namespace, Name: opts.leaseName()},
		shard: s, identity: host + "_" + uuid.NewString(),
	}, nil
}

// Get returns what keeps this process from working, or its own record. Several processes that do so look like one, which is renewed as long
// as one of them is.
func (l *shardLock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	lease, err := l.leases.Get(ctx, l.meta.Name, metav1.GetOptions{})
	if err != nil {
		return nil, nil, err
	}
	l.lease = lease
	holder := holderOf(lease)
	if holder != "" && !shard.IsSummary(holder) {
		record := resourcelock.LeaseSpecToLeaderElectionRecord(&lease.Spec)
		raw, err := json.Marshal(record)
		return record, raw, err
	}
	holders, err := holdersOf(lease)
	if err != nil {
		return nil, nil, err
	}
	rivals := holders.Rivals(l.shard, l.identity)
	if len(rivals) == 0 {
		rivals = shard.Holders{l.shard: holders[l.shard]}
	}
	raw, err := json.Marshal(rivals)
	return recordOf(rivals.Together()), raw, err
}

func holderOf(lease *coordinationv1.Lease) string {
	if lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}

func holdersOf(lease *coordinationv1.Lease) (shard.Holders, error) {
	holders, err := shard.Read(holderOf(lease), lease.Annotations[shard.Annotation])
	if err != nil {
		return nil, fmt.Errorf("read Lease %s/%s: %w; stop all processes and delete it", lease.Namespace, lease.Name, err)
	}
	return holders, nil
}

func recordOf(holder shard.Holder) *resourcelock.LeaderElectionRecord {
	return &resourcelock.LeaderElectionRecord{
		HolderIdentity: holder.Identity, LeaseDurationSeconds: holder.Seconds, LeaderTransitions: holder.Transitions,
		AcquireTime: metav1.Time{Time: holder.Acquired}, RenewTime: metav1.Time{Time: holder.Renewed},
	}
}

// Create records this process as the first one.
func (l *shardLock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	lease := &coordinationv1.Lease{ObjectMeta: *l.meta.DeepCopy()}
	l.write(lease, nil, record)
	created, err := l.leases.Create(ctx, lease, metav1.CreateOptions{})
	if err == nil {
		l.lease = created
	}
	return err
}

// Update records this process, in the place of those that overlap with it: they have been silent for too long. Without a holder, the record
// says that the process has ended.
func (l *shardLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	if l.lease == nil {
		return errors.New("the lease was not read yet")
	}
	holders, err := holdersOf(l.lease)
	if err != nil {
		return err
	}
	if record.HolderIdentity == "" && holders[l.shard].Identity != l.identity {
		return nil // somebody else has it
	}
	lease := l.lease.DeepCopy()
	l.write(lease, holders, record)
	updated, err := l.leases.Update(ctx, lease, metav1.UpdateOptions{})
	if err == nil {
		l.lease = updated
	}
	return err
}

// write puts the holders into a lease as they are with the record of this process.
func (l *shardLock) write(lease *coordinationv1.Lease, holders shard.Holders, record resourcelock.LeaderElectionRecord) {
	after := holders.Without(l.identity)
	if record.HolderIdentity != "" {
		after = holders.With(l.shard, shard.Holder{
			Identity: record.HolderIdentity, Acquired: record.AcquireTime.Time, Renewed: record.RenewTime.Time,
			Seconds: record.LeaseDurationSeconds, Transitions: record.LeaderTransitions,
		})
	}
	holder, annotation := after.Write()
	lease.Spec = resourcelock.LeaderElectionRecordToLeaseSpec(&record)
	lease.Spec.HolderIdentity = &holder
	if annotation == "" {
		delete(lease.Annotations, shard.Annotation)
		return
	}
	if lease.Annotations == nil {
		lease.Annotations = map[string]string{}
	}
	lease.Annotations[shard.Annotation] = annotation
	if seconds := int32(after.Together().Seconds); seconds > 0 {
		lease.Spec.LeaseDurationSeconds = &seconds
	}
}

// RecordEvent tells nobody: the log does, and the Lease.
func (l *shardLock) RecordEvent(string) {}

// Identity is that of this process.
func (l *shardLock) Identity() string { return l.identity }

// Describe names the lease in logs.
func (l *shardLock) Describe() string {
	return fmt.Sprintf("%s/%s, shard %s", l.meta.Namespace, l.meta.Name, l.shard)
}
