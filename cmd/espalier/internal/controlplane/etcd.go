// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/storage/wal"
)

// maxSocketPath is the length that every supported system accepts for the path of a Unix socket.
const maxSocketPath = 100

// walSegment is how much etcd's log allocates at a time, twice. The default of 64 MB is a lot for a laptop with its temporary files in
// memory.
const walSegment = 8 << 20

// At a start, etcd replays every request since the last snapshot, and keeps snapshotCatchUp of them in memory for members that lag behind.
// There are no other members; but etcd drops older ones from memory while it replays, and crashes if it needs them again when it elects
// itself, which can happen on a busy machine. So everything that can be replayed stays in memory: twice the snapshot count, since a
// snapshot takes a while.
const (
	snapshotCount   = 500
	snapshotCatchUp = 2 * snapshotCount
)

// smallerLog changes a global variable of etcd before anything reads it.
var smallerLog = sync.OnceFunc(func() { wal.SegmentSizeBytes = walSegment })

type etcdServer struct {
	url       string
	etcd      *embed.Etcd
	socketDir string

	// died receives the reason if etcd exits unexpectedly.
	died chan error
	// gaveUp is set if a fatal error has ended part of etcd.
	gaveUp atomic.Bool
}

// startEtcd returns when etcd answers requests, or soon after the context has ended.
func startEtcd(ctx context.Context, dir *dataDir, log *logSink) (*etcdServer, error) {
	socketDir, err := makeSocketDir(dir)
	if err != nil {
		return nil, err
	}
	socket := url.URL{Scheme: "unix", Path: filepath.Join(socketDir, "etcd.sock")}
	s := &etcdServer{url: socket.String(), socketDir: socketDir, died: make(chan error, 1)}
	config := etcdConfig(dir, socket)
	config.ZapLoggerBuilder = embed.NewZapLoggerBuilder(log.zapLogger(func(why string) {
		s.gaveUp.Store(true)
		s.noteDeath(why)
	}))

	smallerLog()
	s.etcd, err = attempt(ctx, s.died, func() (*embed.Etcd, error) { return embed.StartEtcd(config) })
	if err == nil {
		err = s.awaitReady(ctx)
	}
	if err != nil {
		s.gaveUp.Store(true) // An etcd that was never ready may never end.
		return nil, errors.Join(fmt.Errorf("start etcd: %w", err), s.stop())
	}
	go s.watch()
	return s, nil
}

func etcdConfig(dir *dataDir, socket url.URL) *embed.Config {
	config := embed.NewConfig()
	config.Name = "espalier"
	config.Dir = dir.path(etcdFolder)
	config.ListenClientUrls = []url.URL{socket}
	config.AdvertiseClientUrls = []url.URL{socket}
	config.ListenPeerUrls = nil // A cluster of one, which no member may join.
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	config.EnableGRPCGateway = false
	config.UnsafeNoFsync = dir.ephemeral
	config.SnapshotCount, config.SnapshotCatchUpEntries = snapshotCount, snapshotCatchUp
	// A single member elects itself; short ticks only make it faster.
	config.TickMs, config.ElectionMs = 10, 100
	// A laptop has no production disk; do not log its delays.
	config.WarningApplyDuration = time.Second
	config.WarningUnaryRequestDuration = time.Second
	return config
}

// makeSocketDir creates a directory for the socket that only the owner may enter. The length of socket paths is limited, so the socket of a
// deep data directory is elsewhere.
func makeSocketDir(dir *dataDir) (string, error) {
	path := dir.path("run")
	if len(filepath.Join(path, "etcd.sock")) > maxSocketPath {
		path, err := os.MkdirTemp("", "espalier-run-")
		if err != nil {
			return "", fmt.Errorf("create directory for the etcd socket: %w", err)
		}
		return path, nil
	}
	// Leftovers of a killed process would prevent etcd from listening.
	if err := os.RemoveAll(path); err != nil {
		return "", fmt.Errorf("clear directory for the etcd socket: %w", err)
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		return "", fmt.Errorf("create directory for the etcd socket: %w", err)
	}
	return path, nil
}

func (s *etcdServer) awaitReady(ctx context.Context) error {
	select {
	case <-s.etcd.Server.ReadyNotify():
		return nil
	case err := <-s.died:
		return err
	case err := <-s.etcd.Err():
		return err
	case <-s.etcd.Server.StopNotify():
		return errors.New("it stopped at once")
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// watch returns when etcd ends.
func (s *etcdServer) watch() {
	select {
	case err, open := <-s.etcd.Err():
		if open {
			s.noteDeath(err.Error())
		}
	case <-s.etcd.Server.StopNotify():
		s.noteDeath("the server stopped")
	}
}

func (s *etcdServer) noteDeath(why string) {
	select {
	case s.died <- errors.New(why):
	default:
	}
}

func (s *etcdServer) stop() error {
	s.close()
	if err := os.RemoveAll(s.socketDir); err != nil {
		return fmt.Errorf("remove the etcd socket: %w", err)
	}
	return nil
}

// close does not wait long for an etcd that has given up: other parts may wait forever for those that have ended.
func (s *etcdServer) close() {
	if s.etcd == nil {
		return
	}
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		s.etcd.Close()
	}()
	if !s.gaveUp.Load() {
		<-closed
		return
	}
	select {
	case <-closed:
	case <-time.After(burialTime):
	}
}
