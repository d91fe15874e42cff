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

// renewedMetric is a time, not an age, so that it is right without updates.
var renewedMetric = prometheus.NewGaugeVec(prometheus.GaugeOpts{
	Name: "espalier_shard_renewed_timestamp_seconds",
	Help: "When a process last renewed its claim to a shard, by lease and for all shards, as the processes that work on a shard see it. " +
		"For a shard that was never taken, when the process that reports it started.",
}, []string{"lease", "shard", "shards"})

func init() { metrics.Registry.MustRegister(shardMetric, renewedMetric) }

// part returns the shard of this process.
func (o *Options) part() shard.Shard {
	s, _ := shard.Parse(o.Shard) // Validate has checked it.
	return s
}

// electShard makes a process that shares the work wait only for its shard.
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

// divide returns a manager whose controllers work only on the shard of this process.
func (o *Options) divide(mgr ctrl.Manager) (ctrl.Manager, error) {
	s := o.part()
	if s.IsAll() {
		return mgr, nil
	}
	shardMetric.WithLabelValues(strconv.Itoa(s.Number), strconv.Itoa(s.Of)).Set(1)
	// The list of readiness checks shows the shard.
	if err := mgr.AddReadyzCheck(fmt.Sprintf("shard-%d-of-%d", s.Number, s.Of), healthz.Ping); err != nil {
		return nil, fmt.Errorf("add health checks: %w", err)
	}
	return divided{Manager: mgr, division: &division{shard: s, cache: mgr.GetCache(), live: mgr.GetAPIReader()}}, nil
}

// shardLock is the lease of a process that shares the work with others. All of them are recorded in the Lease that an unsharded process
// uses, so that the two never work at the same time. Each write carries the version that was read: if two processes request the same trees,
// only one gets them, even if they disagree about the number of shards.
type shardLock struct {
	leases   coordinationclient.LeaseInterface
	meta     metav1.ObjectMeta
	shard    shard.Shard
	identity string
	// lease is the Lease as last read or written.
	lease *coordinationv1.Lease
	// started is when the process started, and renewed when each shard was last renewed, for renewedMetric.
	started time.Time
	renewed map[shard.Shard]time.Time
}

var _ resourcelock.Interface = &shardLock{}

// newShardLock returns the lock of a process.
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
		return nil, fmt.Errorf("get the host name: %w", err)
	}
	config = rest.AddUserAgent(config, "leader-election")
	config.Timeout = max(l.RenewDeadline/2, time.Second) // so that one hanging request does not cost the lease
	client, err := coordinationclient.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("build a client for the lease: %w", err)
	}
	return &shardLock{
		leases: client.Leases(namespace), meta: metav1.ObjectMeta{Namespace: namespace, Name: opts.leaseName()},
		shard: s, identity: host + "_" + uuid.NewString(), started: time.Now(), renewed: map[shard.Shard]time.Time{},
	}, nil
}

// Get returns the record of the processes that block this one, or its own record. Several blocking processes appear as one, which is
// renewed as long as one of them is.
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
	created, err := l.leases.Create(toTheEnd(ctx), lease, metav1.CreateOptions{})
	if err == nil {
		l.lease = created
		l.report()
	}
	return err
}

// toTheEnd returns a context for a write that takes the shard. The end of the process must not cancel it: the API server may have executed
// it, and the elector releases only a lease that it has recorded. The timeout of the client limits the wait.
func toTheEnd(ctx context.Context) context.Context { return context.WithoutCancel(ctx) }

// Update records this process, in place of those that overlap with it: their leases have expired. Without a holder, the record shows that
// the process has ended.
func (l *shardLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	if l.lease == nil {
		return errors.New("the lease has not been read yet")
	}
	holders, err := holdersOf(l.lease)
	if err != nil {
		return err
	}
	mine := holders[l.shard].Identity == l.identity
	switch {
	case record.HolderIdentity == "" && !mine:
		return nil // another process has it
	case !mine:
		ctx = toTheEnd(ctx)
	}
	lease := l.lease.DeepCopy()
	l.write(lease, holders, record)
	updated, err := l.leases.Update(ctx, lease, metav1.UpdateOptions{})
	if err == nil {
		l.lease = updated
		l.report()
	}
	return err
}

// report updates renewedMetric. It is called after writes, so only by processes that hold a shard: one that waits may have just started,
// and does not know when a shard was renewed whose record has been removed.
func (l *shardLock) report() {
	holders, err := holdersOf(l.lease)
	if err != nil {
		return // the next Get returns the error
	}
	for number := 1; number <= l.shard.Of; number++ {
		s := shard.Shard{Number: number, Of: l.shard.Of}
		if holder, held := holders[s]; held {
			l.renewed[s] = holder.Renewed
		} else if _, known := l.renewed[s]; !known {
			l.renewed[s] = l.started
		}
		renewedMetric.WithLabelValues(l.meta.Name, strconv.Itoa(s.Number), strconv.Itoa(s.Of)).Set(float64(l.renewed[s].UnixMilli()) / 1000)
	}
}

// write writes the holders into a lease, with the record of this process.
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

// RecordEvent records nothing: the log and the Lease show it.
func (l *shardLock) RecordEvent(string) {}

// Identity returns the identity of this process.
func (l *shardLock) Identity() string { return l.identity }

// Describe returns the name of the lease for logs.
func (l *shardLock) Describe() string {
	return fmt.Sprintf("%s/%s, shard %s", l.meta.Namespace, l.meta.Name, l.shard)
}
