// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package inside

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"time"
)

const (
	// storeLimit is how long Wait tries to reach the API server.
	storeLimit = 4 * time.Minute
	// slotLimit is how long Wait waits for the Secrets that a larger state needs, and slotPause how often it checks.
	slotLimit = time.Minute
	slotPause = 500 * time.Millisecond
	// maxExports leaves room for the rest of the Secret.
	maxExports = PieceBytes - 1024
)

// Wait stores exports and state once the image has stopped. As a sidecar, it receives the stop signal only after the image has stopped,
// either by itself or because the pod is being deleted. It writes the result last, in one request, so that the result is complete or
// absent.
func Wait(ctx context.Context, env Environment, stopped <-chan os.Signal) error {
	select {
	case <-stopped:
	case <-ctx.Done():
		return ctx.Err()
	}
	ctx, cancel := context.WithTimeout(ctx, storeLimit)
	defer cancel()
	server, err := newServer(env)
	if err != nil {
		return err
	}
	shared, err := os.OpenRoot(env(EnvShared))
	if err != nil {
		return fmt.Errorf("open the directory %s: %w", env(EnvShared), err)
	}
	defer func() { _ = shared.Close() }() // It was only read.
	s := &storing{server: server, env: env, shared: shared}
	exports, err := readExports(shared)
	if err != nil {
		return err
	}
	result := map[string]any{AnnotationRun: env(EnvRun), AnnotationNeeds: nil}
	state, err := s.storeState(ctx)
	if err != nil {
		return fmt.Errorf("store the state: %w", err)
	}
	if state != nil {
		result[AnnotationState] = state.String()
	}
	data := map[string]any{SecretKey: nil}
	if exports != nil {
		data[SecretKey] = exports
	}
	if err := s.server.patchSecret(ctx, env(EnvResult), result, data); err != nil {
		return fmt.Errorf("store the exports: %w", err)
	}
	return nil
}

// readExports reads the exports file; nil if there is none. The image may have created anything there, even a link to a secret of this
// container: only a file below the shared directory is accepted.
func readExports(shared *os.Root) ([]byte, error) {
	file, err := shared.OpenFile(ExportsFile, openFlags, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s must be a file: %w", EnvExports, err)
	}
	defer func() { _ = file.Close() }() // It was only read.
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(fmt.Errorf("%s must be a file", EnvExports), err)
	}
	content, err := io.ReadAll(io.LimitReader(file, maxExports+1))
	if err == nil && len(content) > maxExports {
		err = fmt.Errorf("the file %s has more than %d bytes", EnvExports, maxExports)
	}
	return content, err
}

type storing struct {
	server *server
	env    Environment
	shared *os.Root
}

// storeState packs the state and stores it in Secrets; nil if there is none, so that the state of the last run stays valid.
func (s *storing) storeState(ctx context.Context) (*State, error) {
	folder, err := s.shared.OpenRoot(StateFolder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = folder.Close() }() // It was only read.
	packed, err := Pack(folder, MaxStatePieces*PieceBytes)
	if err != nil || packed == nil {
		return nil, err
	}
	pieces := Split(packed)
	state := &State{Prefix: s.env(EnvStateSecrets), Pieces: len(pieces), Sum: Sum(packed)}
	if err := s.makeRoom(ctx, len(pieces)); err != nil {
		return nil, err
	}
	for i, piece := range pieces {
		mark, data := map[string]any{AnnotationRun: s.env(EnvRun)}, map[string]any{SecretKey: piece}
		if err := s.server.patchSecret(ctx, SlotName(state.Prefix, i), mark, data); err != nil {
			return nil, err
		}
	}
	return state, nil
}

// makeRoom asks the deployer for more Secrets, because Wait may write only to existing ones.
func (s *storing) makeRoom(ctx context.Context, pieces int) error {
	slots, err := strconv.Atoi(s.env(EnvStateSlots))
	if err != nil {
		return fmt.Errorf("%s: %w", EnvStateSlots, err)
	}
	if pieces <= slots {
		return nil
	}
	wish := map[string]any{AnnotationNeeds: fmt.Sprintf("%d/%s", pieces, s.env(EnvRun))}
	if err := s.server.patchSecret(ctx, s.env(EnvResult), wish, nil); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, slotLimit)
	defer cancel()
	for {
		there, err := s.server.secretExists(ctx, SlotName(s.env(EnvStateSecrets), pieces-1))
		if err != nil || there {
			return err
		}
		if !pause(ctx, slotPause) {
			return fmt.Errorf("%d pieces exceed the limit of %d, which the deployer did not raise within %s", pieces, slots, slotLimit)
		}
	}
}

func pause(ctx context.Context, length time.Duration) bool {
	timer := time.NewTimer(length)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
