// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

const (
	// compressionThreshold is the size in bytes of the JSON list of deploy items from which SetItems compresses it. Below
	// it the list stays readable with kubectl; above it a few such lists, with the copies that clients keep in
	// annotations, would come near the limit of 1.5 MiB for an object.
	compressionThreshold = 64 << 10

	// decompressionLimit is the size in bytes that a compressed list of deploy items may have once decompressed. A list
	// that fits into an object and is not made to harm stays far below.
	decompressionLimit = 32 << 20
)

// Items returns the deploy items from whichever form they are given in. The compressed form wins.
func (s *ExecutionSpec) Items() ([]DeployItemTemplate, error) {
	if s.DeployItemsCompressed == "" {
		return s.DeployItems, nil
	}
	text, err := decompress(s.DeployItemsCompressed)
	if err != nil {
		return nil, fmt.Errorf("read spec.deployItemsCompressed: %w", err)
	}
	var items []DeployItemTemplate
	if err := json.Unmarshal(text, &items); err != nil {
		return nil, fmt.Errorf("read spec.deployItemsCompressed: not a JSON list of deploy items: %w", err)
	}
	return items, nil
}

// SetItems replaces the deploy items. Up to 64 KiB of JSON they are stored plainly, above that compressed. The same
// items always give the same bytes.
func (s *ExecutionSpec) SetItems(items []DeployItemTemplate) error {
	text, err := json.Marshal(items)
	if err != nil {
		return fmt.Errorf("write deploy items as JSON: %w", err)
	}
	if len(text) <= compressionThreshold {
		s.DeployItems, s.DeployItemsCompressed = items, ""
		return nil
	}
	compressed, err := compress(text)
	if err != nil {
		return fmt.Errorf("compress deploy items: %w", err)
	}
	s.DeployItems, s.DeployItemsCompressed = nil, compressed
	return nil
}

func compress(text []byte) (string, error) {
	var buffer bytes.Buffer
	writer := gzip.NewWriter(&buffer)
	if _, err := writer.Write(text); err != nil {
		return "", err
	}
	if err := writer.Close(); err != nil {
		return "", err
	}
	return base64.StdEncoding.EncodeToString(buffer.Bytes()), nil
}

func decompress(compressed string) ([]byte, error) {
	packed, err := base64.StdEncoding.DecodeString(compressed)
	if err != nil {
		return nil, fmt.Errorf("not base64: %w", err)
	}
	reader, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("not gzip: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(reader, decompressionLimit+1))
	if err != nil {
		return nil, fmt.Errorf("damaged gzip: %w", err)
	}
	if len(text) > decompressionLimit {
		return nil, errTooLarge
	}
	return text, reader.Close()
}

var errTooLarge = errors.New("decompressed it is larger than 32 MiB: split the execution into several installations")
