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

// maxSocketPath is what every supported system accepts as the path of a unix socket.
const maxSocketPath = 100

// walSegment is what etcd's log allocates at a time, twice. The default of 64 MB is
// much for a laptop whose temporary files live in memory.
const walSegment = 8 << 20

// Every request since the last snapshot is replayed at a start, and snapshotCatchUp of them are held in memory, for members that lag
// behind. Here is none; but etcd drops older ones from memory while it replays, and dies if it looks at them once more when it elects
// itself, which a busy machine lets happen. So all that can be replayed stays: twice of what makes a snapshot, since one takes a while.
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

	// died receives the reason if etcd ends without having been stopped.
	died chan error
	// gaveUp is set if a fatal error has ended a part of etcd.
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
		s.gaveUp.Store(true) // One that has never been ready may never end.
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
	config.ListenPeerUrls = nil // A cluster of one. Nobody may join it.
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	config.EnableGRPCGateway = false
	config.UnsafeNoFsync = dir.ephemeral
	config.SnapshotCount, config.SnapshotCatchUpEntries = snapshotCount, snapshotCatchUp
	// A lone member elects itself; short ticks only make it do so at once.
	config.TickMs, config.ElectionMs = 10, 100
	// A developer's laptop is not a production disk; do not log its hiccups.
	config.WarningApplyDuration = time.Second
	config.WarningUnaryRequestDuration = time.Second
	return config
}

// makeSocketDir gives the socket a directory that only the owner may enter. Socket
// paths are limited, so below a deep data directory it lies elsewhere.
func makeSocketDir(dir *dataDir) (string, error) {
	path := dir.path("run")
	if len(filepath.Join(path, "etcd.sock")) > maxSocketPath {
		path, err := os.MkdirTemp("", "espalier-run-")
		if err != nil {
			return "", fmt.Errorf("make directory for the etcd socket: %w", err)
		}
		return path, nil
	}
	// What a killed process left behind would make etcd fail to listen.
	if err := os.RemoveAll(path); err != nil {
		return "", fmt.Errorf("clear directory for the etcd socket: %w", err)
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		return "", fmt.Errorf("make directory for the etcd socket: %w", err)
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

// watch ends when etcd does.
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

// close does not wait long for an etcd that has given up: parts of it are gone, and the
// others may wait for them for ever.
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
